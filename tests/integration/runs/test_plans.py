"""Plans and their versions, on a real Neo4j."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from docs.pages import section
from fix_waiting import wait_until
from integration.runs.plans import linked, named
from neo4j.exceptions import ClientError, DatabaseError, TransientError

BLOCKED = "SHOW TRANSACTIONS YIELD status WHERE status STARTS WITH 'Blocked' RETURN status"


def test_a_plan_is_an_event_of_its_run(runs, session):
    """It has a place, digests and a parent as any event, and what the design says beside."""
    session.run("CREATE (:Issue {id: '7'})").consume()
    run = runs.new()
    runs.append(run, "llmResponse", id="m", content="Let me think.")
    row = runs.one("plan.create", run, {"id": "p", "content": "Add a cache.", "implements": ["7"]})

    assert row == {"id": "p", "status": "draft", "version": 1, "runId": run}
    assert linked(session, "p") == ["IMPLEMENTS 7", "m GENERATED_PLAN"]
    [_, event] = runs.events(run)
    assert (event["type"], event["event"]["content"], event["parentIds"]) == (
        "llmResponse", "Add a cache.", ["m"]
    )  # fmt: skip
    found = named(session, "p")
    assert found["updatedAt"] >= found["createdAt"] == found["timestamp"]
    assert {name: found[name] for name in ("role", "status", "version", "originalVersion")} == {
        "role": "assistant", "status": "draft", "version": 1, "originalVersion": True
    }  # fmt: skip
    assert runs.one("verify", run)["ok"]


def test_an_issue_that_is_named_twice_is_implemented_once(runs, session):
    """A plan has one relationship to each issue, and so have its later versions."""
    session.run("MERGE (:Issue {id: '7'})").consume()
    runs.one("plan.create", runs.new(), {"id": "p", "content": "a", "implements": ["7", "7"]})
    revision = {"id": "p2", "content": "b", "implements": ["7", "7"]}
    runs.one("plan.revise", "p", "ann", revision)

    for plan in ("p", "p2"):
        found = [each for each in linked(session, plan) if each.startswith("IMPLEMENTS")]
        assert found == ["IMPLEMENTS 7"], plan


def test_a_plan_names_the_message_that_it_came_of(runs, session):
    """The message given counts; without one, the latest message among those that it follows."""
    run = runs.new()
    first = runs.append(run, "userMessage", id="first")["id"]
    runs.append(run, "toolCallResult", id="left", parentIds=[first])
    runs.append(run, "toolCallResult", id="right", parentIds=[first])
    runs.one("plan.create", run, {"id": "joined", "content": "a", "join": True})
    runs.one("plan.create", run, {"id": "told", "content": "a", "generatedBy": "first"})
    runs.append(run, "status")
    runs.one("plan.create", run, {"id": "alone", "content": "a"})

    assert linked(session, "joined") == ["right GENERATED_PLAN"]
    assert linked(session, "told") == ["first GENERATED_PLAN"]
    assert linked(session, "alone") == []


def test_a_plan_takes_what_every_event_takes(runs, session):
    """Agent, references, metadata and time are its own; a status in its metadata is only there."""
    session.run("CREATE (:Issue {id: '7'})").consume()
    run = runs.new()
    runs.append(run, "userMessage", id="m")
    told = {
        "metadata": {"status": "mine", "model": "x"},
        "executedBy": "agent",
        "respondsTo": "m",
        "references": ["7"],
        "parentIds": ["m"],
    }
    runs.one("plan.create", run, {"id": "p", "content": "a", **told})

    [_, event] = runs.events(run)
    assert {name: event["event"][name] for name in told} == told
    assert named(session, "p")["status"] == "draft"
    assert runs.one("verify", run)["ok"]


def test_a_long_plan_comes_back(runs):
    """A text that is kept elsewhere is a plan like any other."""
    run = runs.new()
    runs.one("plan.create", run, {"id": "p", "content": "x" * 9000})
    runs.one("plan.revise", "p", "ann", {"content": "y" * 9000})

    assert [row["event"]["content"] for row in runs.events(run)] == ["x" * 9000, "y" * 9000]
    assert runs.one("verify", run)["ok"]


def test_a_plan_that_is_given_again_is_told_as_it_stands(runs, plan):
    """A retry writes nothing; the id with another content, or of another event, is refused."""
    first = plan(id="p", content="a", generatedBy=None)
    runs.one("plan.review", "p", "ann")
    again = runs.one("plan.create", first["runId"], {"id": "p", "content": "a"})

    assert again == first | {"status": "pending_review"}
    assert len(runs.events(first["runId"])) == 1
    with pytest.raises(ClientError, match=r"SC-905.*other content"):
        runs.one("plan.create", first["runId"], {"id": "p", "content": "b"})
    with pytest.raises(ClientError, match=r"SC-905.*another run"):
        runs.one("plan.create", runs.new(), {"id": "p", "content": "a"})


def test_an_event_does_not_become_a_plan(runs, plan):
    """The id of an event that is not a plan, or of a later version, is taken."""
    run = plan(id="p")["runId"]
    runs.append(run, "llmResponse", id="m", content="a")
    runs.one("plan.revise", "p", "ann", {"id": "q", "content": "a"})

    for name in ("m", "q"):
        with pytest.raises(ClientError, match=rf"SC-905.*`{name}`.*another event"):
            runs.one("plan.create", run, {"id": name, "content": "a"})


BAD_PLANS = [
    ({}, r"SC-204.*`plan.content`.*missing"),
    ({"content": " \n"}, r"SC-204.*`plan.content`.*says nothing"),
    ({"content": 7}, r"SC-204.*`plan.content`.*INTEGER where STRING"),
    ({"content": "x" * (1024 * 1024 + 1)}, r"SC-204.*`plan.content`.*1048577 bytes"),
    ({"content": "a", "status": "approved"}, r"SC-204.*`status`"),
    ({"content": "a", "suggestsEditTo": "p"}, r"SC-204.*no field `suggestsEditTo`"),
    ({"content": "a", "type": "status"}, r"SC-204.*no field `type`"),
    ({"content": "a", "id": " "}, r"SC-204.*`plan.id`"),
    ({"content": "a", "metadata": []}, r"SC-204.*`plan.metadata`.*LIST where MAP"),
    ({"content": "a", "implements": "7"}, r"SC-204.*`plan.implements`"),
    ({"content": "a", "implements": ["none"]}, r"SC-909.*issue `none`"),
    ({"content": "a", "generatedBy": "none"}, r"SC-909.*message `none`"),
    ({"content": "a", "generatedBy": "foreign"}, r"SC-909.*message `foreign`"),
    ({"content": "a", "generatedBy": "status"}, r"SC-909.*message `status`"),
    ({"content": "a", "parentIds": ["foreign"]}, r"SC-904.*another run"),
]


@pytest.mark.parametrize(("values", "error"), BAD_PLANS)
def test_what_is_no_plan_is_refused(runs, session, values, error):
    """The error names the thing, and nothing is stored; the same holds for a version."""
    runs.append(runs.new(), "userMessage", id="foreign")
    run = runs.new()
    runs.append(run, id="status")
    with pytest.raises(ClientError, match=error):
        runs.one("plan.create", run, values)
    assert len(runs.events(run)) == 1

    runs.one("plan.create", run, {"id": "p", "content": "a"})
    with pytest.raises(ClientError, match=error.replace("`plan.", "`revision.")):
        runs.one("plan.revise", "p", "ann", values)
    assert len(runs.events(run)) == 2
    assert session.run("MATCH (p:Plan) RETURN count(p) AS n").single()["n"] == 1
    assert linked(session, "p") == []


def test_a_plan_of_no_run_is_refused(runs, session):
    """Neither an unknown run nor a plan that plain Cypher wrote without one serves."""
    session.run("CREATE (:Plan {id: 'lone'})").consume()
    with pytest.raises(ClientError, match=r"SC-903.*`none`"):
        runs.one("plan.create", "none", {"content": "a"})
    for name in ("none", "lone"):
        for call, arguments in (
            ("revise", ["ann", {"content": "a"}]),
            ("review", ["ann"]),
            ("approve", ["ann"]),
            ("reject", ["ann"]),
            ("comment", ["ann", {"content": "a"}]),
            ("implement", []),
        ):
            with pytest.raises(ClientError, match=rf"SC-912.*`{name}`"):
                runs.call(f"plan.{call}", name, *arguments)
    assert runs.call("plan.history", "none") == []


def test_a_version_is_a_plan_of_its_own(runs, session):
    """It knows the version before it, who edited it, and implements what that one does."""
    session.run("CREATE (:Issue {id: '7'}), (:Issue {id: '8'})").consume()
    run = runs.new()
    runs.one("plan.create", run, {"id": "p", "content": "a", "implements": ["8", "7"]})
    row = runs.one("plan.revise", "p", "ann", {"id": "q", "content": "b", "message": " shorter "})

    assert row == {"id": "q", "status": "draft", "version": 2, "runId": run}
    found = named(session, "q")
    assert found.pop("editedAt") <= found["updatedAt"]
    wanted = {
        "version": 2,
        "originalVersion": False,
        "editedBy": "ann",
        "editMessage": "shorter",
        "parentId": "p",
        "content": "b",
        "seq": 2,
    }
    assert {name: found[name] for name in wanted} == wanted
    assert linked(session, "q") == [
        "IMPLEMENTS 7",
        "IMPLEMENTS 8",
        "PREVIOUS_VERSION p",
        "ann EDITS",
    ]
    assert named(session, "p")["content"] == "a"

    runs.one("plan.revise", "q", "bob", {"id": "r", "content": "c", "implements": ["7"]})
    assert linked(session, "r") == ["IMPLEMENTS 7", "PREVIOUS_VERSION q", "bob EDITS"]
    assert runs.one("verify", run)["ok"]


def test_a_revision_that_is_given_again_is_told_as_it_stands(runs, session, plan):
    """A retry finds the version that it made, also when there are later ones."""
    run = plan(id="p")["runId"]
    first = runs.one("plan.revise", "p", "ann", {"id": "q", "content": "b"})
    runs.one("plan.revise", "q", "ann", {"id": "r", "content": "c"})

    assert runs.one("plan.revise", "p", "ann", {"id": "q", "content": "b"}) == first
    assert linked(session, "q") == ["PREVIOUS_VERSION p", "ann EDITS", "r PREVIOUS_VERSION"]
    with pytest.raises(ClientError, match=r"SC-905.*other content"):
        runs.one("plan.revise", "p", "ann", {"id": "q", "content": "another"})
    with pytest.raises(ClientError, match=r"SC-905.*`q`"):
        runs.one("plan.revise", "r", "ann", {"id": "q", "content": "b"})
    assert len(runs.events(run)) == 3


def test_only_the_latest_version_goes_on(runs, plan):
    """Whatever is done with an older one is refused, and the error names the one after it."""
    plan(id="p", status="pending_review")
    runs.one("plan.revise", "p", "ann", {"id": "q", "content": "b"})

    for call, arguments in (
        ("revise", ["ann", {"content": "c"}]),
        ("review", ["ann"]),
        ("approve", ["ann"]),
        ("reject", ["ann"]),
        ("implement", []),
    ):
        with pytest.raises(ClientError, match=r"SC-913.*`p` has a newer version.*`q`"):
            runs.call(f"plan.{call}", "p", *arguments)


def test_a_fork_reads_the_plans_that_it_shares(runs, session):
    """They are its origin's, and so are their versions; its own plans may come of the prefix."""
    origin = runs.new()
    runs.append(origin, "llmResponse", id="m", content="a")
    runs.one("plan.create", origin, {"id": "p", "content": "a"})
    fork = runs.one("fork", origin, 2)["id"]

    row = runs.one("plan.revise", "p", "ann", {"id": "q", "content": "b"})
    own = runs.one("plan.create", fork, {"id": "f", "content": "c", "generatedBy": "m"})
    again = runs.one("plan.create", fork, {"id": "p", "content": "a"})

    assert (row["runId"], own["runId"], again["runId"]) == (origin, fork, origin)
    assert linked(session, "f") == ["m GENERATED_PLAN"]
    assert [row["id"] for row in runs.events(fork)] == ["m", "p", "f"]
    with pytest.raises(ClientError, match=r"SC-909.*`q`"):
        runs.one("plan.create", fork, {"content": "c", "generatedBy": "q"})
    for run in (origin, fork):
        assert runs.one("verify", run)["ok"]


def test_a_plan_that_was_deleted_is_not_gone_on_with(runs, session, plan):
    """Its place stays, and a retry finds it, but nothing is done with it any more."""
    row = plan(id="p", content="a")
    runs.one("deleteEvent", "p")

    for call, arguments in (
        ("review", ["ann"]),
        ("revise", ["ann", {"content": "b"}]),
        ("comment", ["ann", {"content": "b"}]),
        ("implement", []),
    ):
        with pytest.raises(ClientError, match=r"SC-912.*`p` was deleted"):
            runs.one(f"plan.{call}", "p", *arguments)
    assert runs.one("plan.create", row["runId"], {"id": "p", "content": "a"}) == row


def test_what_is_rolled_back_was_never_there(runs, session, driver, plan):
    """Steps of one transaction see each other, and go with it."""
    run = plan(id="p")["runId"]
    with driver.session() as other, other.begin_transaction() as transaction:
        transaction.run("CALL runs.plan.review('p', 'ann')").consume()
        transaction.run("CALL runs.plan.revise('p', 'ann', {id: 'q', content: 'b'})").consume()
        told = transaction.run("CALL runs.plan.approve('q', 'ann')").data()
        transaction.rollback()

    assert told == [{"id": "q", "status": "approved", "version": 2, "runId": run}]
    assert linked(session, "p") == []
    assert (named(session, "p")["status"], len(runs.events(run))) == ("draft", 1)


@pytest.mark.slow
def test_a_sidecar_that_dies_on_the_way_leaves_nothing(runs, server, driver):
    """A plan whose event is written and that is not yet a plan was never there."""
    run = runs.new()
    plan = {"id": "p", "content": "a"}
    with driver.session() as other, other.begin_transaction() as holder:
        # Its event, written by then, waits until it is known whether this plan's id is taken.
        holder.run("CREATE (:Plan {id: 'p'})").consume()
        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(runs.one, "plan.create", run, plan)
            wait_until(lambda: driver.execute_query(BLOCKED).records)
            server.kill_sidecar()
            holder.rollback()
            with pytest.raises((ClientError, DatabaseError, TransientError), match=r"SC-2\d\d"):
                writing.result()
    server.await_sidecar()

    assert runs.events(run) == []
    assert runs.one("plan.create", run, plan)["version"] == 1


def test_the_query_of_the_page_finds_plans_that_wait(session, runs):
    """What docs/runs-model.md shows finds the version that waits, and not the one before it."""
    waiting = re.search(r"`(MATCH \(p:Plan .*)`", section("docs/runs-model.md", "Plans"))[1]
    run = runs.new()
    first = runs.one("plan.create", run, {"content": "a", "status": "pending_review"})["id"]
    second = runs.one("plan.revise", first, "ann", {"content": "b"})["id"]

    found = {row["p"]["id"] for row in session.run(waiting).data()}

    assert second in found
    assert first not in found
