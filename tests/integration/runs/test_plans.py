"""`runs.plan.*` on a real Neo4j."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from neo4j.exceptions import ClientError

from sidecypher_procedures.runs.plans.statuses import STEPS


@pytest.fixture
def plan(runs):
    """Create a plan in a run of its own; return its row."""

    def make(**plan):
        return runs.one("plan.create", runs.new(), {"content": "Add a cache.", **plan})

    return make


def named(session, plan_id):
    """Read the properties of a plan by plain Cypher."""
    return session.run("MATCH (p:Plan {id: $id}) RETURN properties(p) AS p", id=plan_id).single()[0]


def linked(session, plan_id):
    """Read what hangs on a plan, as texts such as `(m) GENERATED_PLAN`."""
    return sorted(
        session.run(
            """
            MATCH (p:Plan {id: $id})-[r]-(other)
            WHERE NOT type(r) IN ['PART_OF', 'NEXT', 'STARTS_WITH']
            RETURN CASE WHEN startNode(r) = p
                THEN type(r) + ' ' + other.id ELSE other.id + ' ' + type(r)
            END
            """,
            id=plan_id,
        ).value()
    )


def test_a_plan_is_an_event_of_its_run(runs, session):
    """It has a place, digests and a parent as any event, and what the design says beside."""
    session.run("CREATE (:Issue {id: '7'})").consume()
    run = runs.new()
    runs.append(run, "llmResponse", id="m", content="Let me think.")
    row = runs.one("plan.create", run, {"id": "p", "content": "Add a cache.", "implements": ["7"]})

    assert row == {"planId": "p", "status": "draft", "version": 1, "runId": run}
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
    """The id of an event that is no plan, or of a later version, is taken."""
    run = plan(id="p")["runId"]
    runs.append(run, "llmResponse", id="m", content="a")
    runs.one("plan.revise", "p", "ann", {"id": "q", "content": "a"})

    for name in ("m", "q"):
        with pytest.raises(ClientError, match=rf"SC-905.*`{name}`.*another event"):
            runs.one("plan.create", run, {"id": name, "content": "a"})


BAD_PLANS = [
    ({}, r"SC-901.*plan lacks `content`"),
    ({"content": " \n"}, r"SC-901.*plan lacks `content`"),
    ({"content": 7}, r"SC-901.*no STRING"),
    ({"content": "x" * (1024 * 1024 + 1)}, r"SC-901.*1048577 bytes"),
    ({"content": "a", "status": "approved"}, r"SC-901.*`status`"),
    ({"content": "a", "suggestsEditTo": "p"}, r"SC-901.*no key `suggestsEditTo`"),
    ({"content": "a", "type": "status"}, r"SC-901.*no key `type`"),
    ({"content": "a", "id": " "}, r"SC-901.*`id`"),
    ({"content": "a", "metadata": []}, r"SC-901.*no MAP"),
    ({"content": "a", "implements": "7"}, r"SC-901.*`implements`"),
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
    with pytest.raises(ClientError, match=error.replace("plan lacks", "revision lacks")):
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
    with pytest.raises(ClientError, match=r"SC-912.*`none`"):
        runs.call("plan.history", "none")


def test_a_version_is_a_plan_of_its_own(runs, session):
    """It knows the version before it, who edited it, and implements what that one does."""
    session.run("CREATE (:Issue {id: '7'}), (:Issue {id: '8'})").consume()
    run = runs.new()
    runs.one("plan.create", run, {"id": "p", "content": "a", "implements": ["8", "7"]})
    row = runs.one("plan.revise", "p", "ann", {"id": "q", "content": "b", "message": " shorter "})

    assert row == {"planId": "q", "status": "draft", "version": 2, "runId": run}
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


ACTS = {
    "review": ["ann"],
    "approve": ["ann"],
    "reject": ["ann"],
    "revise": ["ann", {"content": "b"}],
    "implement": [],
}
WAYS = {
    "draft": [],
    "pending_review": ["review"],
    "approved": ["review", "approve"],
    "rejected": ["review", "reject"],
    "implemented": ["review", "approve", "implement"],
}


@pytest.mark.parametrize("status", WAYS)
@pytest.mark.parametrize("action", ACTS)
def test_a_plan_goes_from_status_to_status_by_one_table(runs, session, plan, status, action):
    """Each action either leads where the table says, or is refused and changes nothing."""
    plan_id = plan()["planId"]
    for step in WAYS[status]:
        runs.one(f"plan.{step}", plan_id, *["bob", *ACTS[step][1:]][: len(ACTS[step])])
    before = named(session, plan_id)
    assert before["status"] == status

    wanted = STEPS[action].get(status)
    if wanted is None:
        with pytest.raises(ClientError, match=rf"SC-914.*`{status}`.*runs.plan.{action}"):
            runs.one(f"plan.{action}", plan_id, *ACTS[action])
        assert named(session, plan_id) == before
    else:
        row = runs.one(f"plan.{action}", plan_id, *ACTS[action])
        assert row["status"] == wanted == named(session, row["planId"])["status"]


def test_who_decided_is_kept(runs, session, plan):
    """Each decision hangs on its user with its time, its version and what was said."""
    row = plan(id="p")
    runs.one("plan.review", "p", "ann", {"message": "I look at it"})
    runs.one("plan.review", "p", "bob")
    runs.one("plan.approve", "p", "bob", {"message": "go"})

    assert linked(session, "p") == ["ann REVIEWS", "bob APPROVES", "bob REVIEWS"]
    found = session.run(
        "MATCH (:User)-[a:APPROVES]->(p:Plan) RETURN properties(a) AS a, p.updatedAt AS at"
    ).single()
    assert found["a"] == {"timestamp": found["at"], "message": "go", "version": 1}
    assert runs.one("state", row["runId"])["lastSeq"] == 1


def test_the_same_again_changes_nothing(runs, session, plan):
    """A retry of what a user did tells how the plan stands, whatever became of it since."""
    plan(id="p")
    for call in ("review", "approve"):
        runs.one(f"plan.{call}", "p", "ann", {"message": "first"})
    runs.one("plan.implement", "p")
    before = named(session, "p")

    for call in ("review", "approve"):
        row = runs.one(f"plan.{call}", "p", "ann", {"message": "second"})
        assert row["status"] == "implemented"
    assert runs.one("plan.implement", "p")["status"] == "implemented"
    assert named(session, "p") == before
    assert [row["message"] for row in runs.call("plan.history", "p")] == ["first", "first"]


def test_of_reviewers_at_once_one_decides(runs, session, driver, plan):
    """Eight who approve or reject at the same time leave one decision; the others are told so."""
    plan(id="p", status="pending_review")

    def act(number):
        call = ("approve", "reject")[number % 2]
        try:
            driver.execute_query(f"CALL runs.plan.{call}('p', $user)", user=f"u{number}")
        except ClientError as error:
            return error.message
        return call

    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(act, range(8)))

    [decision] = [each for each in told if each in {"approve", "reject"}]
    status = {"approve": "approved", "reject": "rejected"}[decision]
    assert sum("SC-914" in each and f"`{status}`" in each for each in told) == 7
    assert named(session, "p")["status"] == status
    assert len(linked(session, "p")) == 1


def test_of_editors_at_once_one_makes_the_next_version(runs, session, driver, plan):
    """Eight who revise the same version leave one chain of versions."""
    row = plan(id="p")

    def revise(number):
        try:
            driver.execute_query(
                "CALL runs.plan.revise('p', $user, {content: $user})", user=f"u{number}"
            )
        except ClientError as error:
            return error.message
        return None

    with ThreadPoolExecutor(8) as pool:
        refused = [told for told in pool.map(revise, range(8)) if told]

    assert len(refused) == sum("SC-913" in told for told in refused) == 7
    assert len(runs.events(row["runId"])) == 2
    assert len(linked(session, "p")) == 1
    assert runs.one("verify", row["runId"])["ok"]


BAD_CALLS = [
    (("review", " "), r"SC-902.*`user`"),
    (("approve", "x" * 201), r"SC-902.*`user`"),
    (("reject", "ann", {"why": "no"}), r"SC-902.*no key `why`"),
    (("review", "ann", {"message": 1}), r"SC-902.*`message`.*no STRING"),
    (("review", "ann", {"message": "x" * 4001}), r"SC-902.*4001 characters"),
    (("revise", "", {"content": "a"}), r"SC-902.*`user`"),
    (("revise", "ann", {"content": "a", "message": "x" * 4001}), r"SC-901.*4001 characters"),
    (("revise", "ann", {"content": "a", "status": "approved"}), r"SC-901.*no key `status`"),
    (("comment", "", {"content": "a"}), r"SC-902.*`user`"),
    (("comment", "ann", {}), r"SC-901.*comment lacks `content`"),
    (("comment", "ann", {"content": "a", "suggestsEdit": 1}), r"SC-901.*no BOOLEAN"),
    (("comment", "ann", {"content": "a", "metadata": {"userId": "bob"}}), r"SC-901.*`userId`"),
    (("comment", "ann", {"content": "a", "parentIds": ["none"]}), r"SC-904.*`none`"),
    (("implement", {"pullRequest": " "}), r"SC-902.*`pullRequest`"),
]


@pytest.mark.parametrize(("call", "error"), BAD_CALLS)
def test_a_call_that_cannot_be_is_refused(runs, session, plan, call, error):
    """The error names the thing, and the plan is as it was."""
    run = plan(id="p")["runId"]
    before = named(session, "p")

    name, *arguments = call
    with pytest.raises(ClientError, match=error):
        runs.one(f"plan.{name}", "p", *arguments)
    assert named(session, "p") == before
    assert (linked(session, "p"), len(runs.events(run))) == ([], 1)


def test_a_comment_is_an_event_of_the_plans_run(runs, session, plan):
    """It is about its version of the plan, tells its user, and may suggest an edit."""
    run = plan(id="p")["runId"]
    runs.one("plan.revise", "p", "ann", {"content": "b"})
    row = runs.one(
        *("plan.comment", "p", "ann"),
        {"id": "c", "content": "Why?", "metadata": {"reviewContext": {"line": 1}}},
    )
    runs.one(
        "plan.comment",
        "p",
        "bob",
        {"id": "d", "content": "So.", "suggestsEdit": True, "respondsTo": "c"},
    )

    assert row == {"commentId": "c", "planId": "p", "status": "draft", "version": 1, "runId": run}
    found = [row["event"] for row in runs.events(run, types=["reviewComment"])]
    assert [event["metadata"] for event in found] == [
        {"reviewContext": {"line": 1}, "userId": "ann"}, {"userId": "bob"}
    ]  # fmt: skip
    assert (found[1]["suggestsEditTo"], found[1]["respondsTo"]) == ("p", "c")
    assert session.run(
        "MATCH (p:Message:Plan)<-[:COMMENTS_ON]-(c:Message:ReviewComment) WHERE c.role = 'user' "
        "RETURN p.id + c.id AS pair ORDER BY c.timestamp"
    ).value() == ["pc", "pd"]
    assert runs.one("verify", run)["ok"]


def test_a_comment_that_is_given_again_is_written_once(runs, plan):
    """A retry finds it; its id cannot serve for another plan or another content."""
    run = plan(id="p")["runId"]
    runs.one("plan.create", run, {"id": "other", "content": "a"})
    runs.append(run, "reviewComment", id="m", content="a", metadata={"userId": "ann"})
    first = runs.one("plan.comment", "p", "ann", {"id": "c", "content": "a"})

    assert runs.one("plan.comment", "p", "ann", {"id": "c", "content": "a"}) == first
    for plan_id, name, content in (("other", "c", "a"), ("p", "c", "b"), ("p", "m", "a")):
        with pytest.raises(ClientError, match=rf"SC-905.*`{name}`"):
            runs.one("plan.comment", plan_id, "ann", {"id": name, "content": content})
    assert len(runs.events(run)) == 4


def test_a_plan_results_in_pull_requests(runs, session, plan):
    """Each is linked once; one that is not there is refused, and the plan stays approved."""
    session.run("CREATE (:PullRequest {id: '1'}), (:PullRequest {id: '2'})").consume()
    plan(id="p", status="pending_review")
    runs.one("plan.approve", "p", "ann")

    with pytest.raises(ClientError, match=r"SC-909.*pull request `none`"):
        runs.one("plan.implement", "p", {"pullRequest": "none"})
    assert named(session, "p")["status"] == "approved"
    for name in ("1", "1", "2"):
        row = runs.one("plan.implement", "p", {"pullRequest": name})
        assert row["status"] == "implemented"
    assert linked(session, "p") == ["RESULTS_IN 1", "RESULTS_IN 2", "ann APPROVES"]


def test_the_history_is_of_all_versions(runs, plan):
    """From any version it tells who did what with which one, in order of time."""
    plan(id="p")
    runs.one("plan.review", "p", "ann", {"message": "I look at it"})
    runs.one("plan.reject", "p", "ann", {"message": "too long"})
    runs.one("plan.revise", "p", "bob", {"id": "q", "content": "b", "message": "shorter"})
    runs.one("plan.approve", "q", "ann")
    runs.one("plan.revise", "q", "bob", {"id": "r", "content": "c"})

    told = runs.call("plan.history", "q")
    assert [(row["action"], row["user"], row["version"], row["message"]) for row in told] == [
        ("REVIEWS", "ann", 1, "I look at it"),
        ("REJECTS", "ann", 1, "too long"),
        ("EDITS", "bob", 2, "shorter"),
        ("APPROVES", "ann", 2, None),
        ("EDITS", "bob", 3, None),
    ]
    times = [row["at"] for row in told]
    assert times == sorted(times)
    assert runs.call("plan.history", "p") == runs.call("plan.history", "r") == told
    assert runs.call("plan.history", plan()["planId"]) == []


def test_a_fork_reads_the_plans_that_it_shares(runs, session):
    """They are its origin's, and so are their versions; its own plans may come of the prefix."""
    origin = runs.new()
    runs.append(origin, "llmResponse", id="m", content="a")
    runs.one("plan.create", origin, {"id": "p", "content": "a"})
    fork = runs.new()
    session.run(
        "MATCH (o:WorkflowRun {id: $origin}), (f:WorkflowRun {id: $fork}) "
        "SET f += {lineage: [$origin], lineageSeqs: [2], lastSeq: 2, lastEventId: o.lastEventId}",
        origin=origin, fork=fork,
    ).consume()  # fmt: skip

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
    """Its place stays, but nothing is done with it any more."""
    plan(id="p")
    session.run("MATCH (p:Plan {id: 'p'}) SET p.deletedAt = datetime()").consume()

    with pytest.raises(ClientError, match=r"SC-912.*`p` was deleted"):
        runs.one("plan.review", "p", "ann")


def test_what_is_rolled_back_was_never_there(runs, session, driver, plan):
    """Steps of one transaction see each other, and go with it."""
    run = plan(id="p")["runId"]
    with driver.session() as other, other.begin_transaction() as transaction:
        transaction.run("CALL runs.plan.review('p', 'ann')").consume()
        transaction.run("CALL runs.plan.revise('p', 'ann', {id: 'q', content: 'b'})").consume()
        told = transaction.run("CALL runs.plan.approve('q', 'ann')").data()
        transaction.rollback()

    assert told == [{"planId": "q", "status": "approved", "version": 2, "runId": run}]
    assert linked(session, "p") == []
    assert (named(session, "p")["status"], len(runs.events(run))) == ("draft", 1)
