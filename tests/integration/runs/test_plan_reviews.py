"""Who reviews, decides and comments, and what comes of a plan, on a real Neo4j."""

import random
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from integration.runs.plans import linked, named
from neo4j.exceptions import ClientError

from sidecypher_procedures.runs.model import STEPS
from sidecypher_procedures.runs.plans import _HISTORY

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
    plan_id = plan()["id"]
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
        assert row["status"] == wanted == named(session, row["id"])["status"]


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
        for again in ({"message": "first"}, {}):
            assert runs.one(f"plan.{call}", "p", "ann", again)["status"] == "implemented"
    assert runs.one("plan.implement", "p")["status"] == "implemented"
    assert named(session, "p") == before
    assert [row["message"] for row in runs.call("plan.history", "p")] == ["first", "first"]


def test_what_a_user_says_later_is_kept(runs, plan):
    """A review with other words is another review; once it is too late for one, that is told."""
    plan(id="p")
    runs.one("plan.review", "p", "ann")
    for _ in range(2):
        runs.one("plan.review", "p", "ann", {"message": "no tests"})
    runs.one("plan.review", "p", "ann", {"message": "tests are there"})
    told = [None, "no tests", "tests are there"]
    assert [row["message"] for row in runs.call("plan.history", "p")] == told

    runs.one("plan.approve", "p", "bob")
    for call, user in (("review", "ann"), ("approve", "bob")):
        with pytest.raises(ClientError, match=rf"SC-914.*`approved`.*runs.plan.{call}"):
            runs.one(f"plan.{call}", "p", user, {"message": "Wait!"})
    assert [row["message"] for row in runs.call("plan.history", "p")] == [*told, None]


def test_a_revision_with_other_words_is_another_one(runs, plan):
    """The same version again, by another user or with another message, is refused by its id."""
    plan(id="p")
    revision = {"id": "q", "content": "b", "message": "shorter"}
    row = runs.one("plan.revise", "p", "ann", revision)

    assert runs.one("plan.revise", "p", "ann", revision) == row
    for user, change in (("bob", {}), ("ann", {"message": "longer"}), ("ann", {"message": ""})):
        with pytest.raises(ClientError, match=r"SC-905.*`q`"):
            runs.one("plan.revise", "p", user, {**revision, **change})
    [edited] = runs.call("plan.history", "p")
    assert (edited["userId"], edited["message"]) == ("ann", "shorter")


DECISIONS = {
    "review": ("draft", ["ann"]),
    "approve": ("pending_review", ["ann"]),
    "reject": ("pending_review", ["ann"]),
    "comment": ("draft", ["ann", {"content": "why?"}]),
    "revise": ("draft", ["ann", {"content": "b"}]),
}


def long_ago(session):
    session.run("MATCH (r:WorkflowRun) SET r.touchedAt = datetime('2026-01-01T00:00Z')").consume()


def states(runs, run):
    """Return the state of a run as each procedure tells it."""
    [batch] = runs.session.run("CALL runs.state.batch([[$run]]) YIELD state", run=run).value()
    [listed] = [row["state"] for row in runs.call("list", {}) if row["id"] == run]
    assert {listed} == {row["state"] for row in runs.call("list", {"state": listed})}
    return {
        batch,
        listed,
        runs.one("state", run)["state"],
        runs.one("get", run)["run"]["state"],
        runs.one("get", run)["run"]["status"],
    }


def test_a_run_that_waits_for_somebody_does_not_time_out(runs, session):
    """While a plan awaits its decision, a run is `waiting`, for however long."""
    run = runs.new()
    runs.append(run, "workflowStarted")
    runs.one("plan.create", run, {"id": "p", "content": "a", "status": "pending_review"})
    assert states(runs, run) == {"waiting"}
    long_ago(session)
    assert states(runs, run) == {"waiting"}
    for state, found in (("waiting", [run]), ("running", []), ("timedOut", [])):
        assert [row["id"] for row in runs.call("list", {"state": state})] == found

    runs.one("plan.revise", "p", "ann", {"id": "q", "content": "b"})
    long_ago(session)
    assert states(runs, run) == {"waiting"}

    runs.one("deleteEvent", "q")
    assert states(runs, run) == {"timedOut"}


def test_a_run_that_has_ended_does_not_wait(runs):
    """A plan that nobody decides about any more changes no final state."""
    run = runs.new()
    runs.append(run, "workflowStarted")
    runs.one("plan.create", run, {"id": "p", "content": "a", "status": "pending_review"})
    runs.append(run, "workflowCompleted")

    assert states(runs, run) == {"completed"}


@pytest.mark.parametrize("action", [*DECISIONS, "implement"])
def test_what_is_done_with_a_plan_touches_its_run(runs, session, plan, action):
    """The run has its whole timeout from then on; the same again does not touch it."""
    status, given = DECISIONS.get(action, ("pending_review", []))
    run = plan(id="p", status=status)["runId"]
    if action == "implement":
        runs.one("plan.approve", "p", "ann")
    long_ago(session)
    assert states(runs, run) == {"waiting" if status == "pending_review" and given else "timedOut"}

    for again in (False, True):
        if again:
            long_ago(session)
        arguments = given if action not in {"comment", "revise"} else [
            given[0], {**given[1], "id": "q"}
        ]  # fmt: skip
        runs.one(f"plan.{action}", "p", *arguments)
        touched = "timedOut" if again else "pending"
        assert states(runs, run) == {"waiting" if action == "review" else touched}


BAD_CALLS = [
    (("review", " "), r"SC-902.*`userId`"),
    (("approve", "x" * 201), r"SC-902.*`userId`.*201 characters"),
    (("approve", None), r"SC-215.*`userId` must not be null"),
    (("reject", "ann", {"why": "no"}), r"SC-204.*no field `why`"),
    (("review", "ann", {"message": 1}), r"SC-204.*`options.message`.*INTEGER where STRING"),
    (
        ("review", "ann", {"message": "x" * 4001}),
        r"SC-204.*`options.message`.*at most 4000 characters",
    ),
    (("revise", "", {"content": "a"}), r"SC-902.*`userId`"),
    (
        ("revise", "ann", {"content": "a", "message": "x" * 4001}),
        r"SC-204.*`revision.message`.*at most 4000 characters",
    ),
    (("revise", "ann", {"content": "a", "status": "approved"}), r"SC-204.*no field `status`"),
    (("comment", "", {"content": "a"}), r"SC-902.*`userId`"),
    (("comment", "ann", {}), r"SC-204.*`comment.content`.*missing"),
    (
        ("comment", "ann", {"content": "a", "suggestsEdit": 1}),
        r"SC-204.*`comment.suggestsEdit`.*INTEGER where BOOLEAN",
    ),
    (("comment", "ann", {"content": "a", "metadata": {"userId": "bob"}}), r"SC-902.*`userId`"),
    (("comment", "ann", {"content": "a", "parentIds": ["none"]}), r"SC-904.*`none`"),
    (("implement", {"pullRequestId": " "}), r"SC-204.*`options.pullRequestId`"),
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

    assert row == {"id": "c", "planId": "p", "status": "draft", "version": 1, "runId": run}
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


def test_any_event_may_suggest_an_edit(runs, session, plan):
    """A plain append can refer to a plan as well, of its run or another."""
    plan(id="p")
    runs.append(runs.new(), "userMessage", id="m", content="Shorter.", suggestsEditTo="p")

    assert linked(session, "p") == ["m SUGGESTS_EDIT_TO"]
    assert runs.one("plan.revise", "p", "ann", {"content": "b"})["version"] == 2


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


def test_a_comment_that_was_deleted_is_found_by_a_retry(runs, session, plan):
    """As any event: it is not written again, and it does not come back."""
    plan(id="p")
    first = runs.one("plan.comment", "p", "ann", {"id": "c", "content": "a"})
    runs.one("deleteEvent", "c")

    assert runs.one("plan.comment", "p", "ann", {"id": "c", "content": "a"}) == first
    assert linked(session, "p") == []


def test_a_plan_results_in_pull_requests(runs, session, plan):
    """Each is linked once; one that is not there is refused, and the plan stays approved."""
    session.run("CREATE (:PullRequest {id: '1'}), (:PullRequest {id: '2'})").consume()
    plan(id="p", status="pending_review")
    runs.one("plan.approve", "p", "ann")

    with pytest.raises(ClientError, match=r"SC-909.*pull request `none`"):
        runs.one("plan.implement", "p", {"pullRequestId": "none"})
    assert named(session, "p")["status"] == "approved"
    for name in ("1", "1", "2"):
        row = runs.one("plan.implement", "p", {"pullRequestId": name})
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
    assert [(row["action"], row["userId"], row["version"], row["message"]) for row in told] == [
        ("REVIEWS", "ann", 1, "I look at it"),
        ("REJECTS", "ann", 1, "too long"),
        ("EDITS", "bob", 2, "shorter"),
        ("APPROVES", "ann", 2, None),
        ("EDITS", "bob", 3, None),
    ]
    times = [row["createdAt"] for row in told]
    assert times == sorted(times)
    assert runs.call("plan.history", "p") == runs.call("plan.history", "r") == told
    assert runs.call("plan.history", plan()["id"]) == []


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_the_history_of_a_plan_is_listed_in_pages(runs, session, plan, limit):
    """The column `cursor` of a row goes on behind it, also where there is no time or only one."""
    plan(id="p", status="pending_review")
    runs.one("plan.review", "p", "ann")
    session.run(
        """
        UNWIND [null, null, datetime('2026-01-01T01:00+01:00'), datetime('2026-01-01T00:00Z')] AS at
        MATCH (u:User {id: 'ann'}), (p:Plan {id: 'p'})
        CREATE (u)-[:EDITS {timestamp: at}]->(p)
        """
    ).consume()
    whole = runs.call("plan.history", "p")
    told, page = [], {}
    while rows := runs.call("plan.history", "p", {**page, "limit": limit}):
        assert len(rows) <= limit
        told += rows
        page = {"cursor": rows[-1]["cursor"]}

    assert told == whole
    assert [row["createdAt"] is None for row in whole] == [False, False, False, True, True]
    assert [row["action"] for row in whole] == ["EDITS", "EDITS", "REVIEWS", "EDITS", "EDITS"]
    with pytest.raises(ClientError, match=r"SC-204.*`options.cursor`.*not a `cursor` of a row"):
        runs.call("plan.history", "p", {"cursor": "p"})


def test_the_history_of_many_versions_costs_a_step_for_each(session):
    """The server prunes what it has seen; else each step would look at all versions before it."""
    steps, waiting = [], [session.run(f"EXPLAIN {_HISTORY}").consume().plan]
    while waiting:
        plan = waiting.pop()
        steps.append(plan["operatorType"])
        waiting += plan.get("children", ())

    assert [step for step in steps if step.startswith("VarLengthExpand(Pruning,BFS")]


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


DEEDS = {"review": "REVIEWS", "approve": "APPROVES", "reject": "REJECTS", "revise": "EDITS"}


def test_users_at_random_leave_plans_that_are_right(runs, session, driver):
    """Eight who do anything at once: nothing is lost, nothing is twice, each step is legal."""
    run = runs.new()
    known = [runs.one("plan.create", run, {"content": str(number)})["id"] for number in range(3)]

    def act(seed):
        chance, done = random.Random(seed), []
        for number in range(12):
            action, plan_id = chance.choice([*ACTS]), chance.choice(known)
            told = _try(driver, action, plan_id, f"u{seed}", f"{seed}-{number}")
            if told is not None:
                known.append(told)
                done.append((action, f"u{seed}", told))
        return done

    with ThreadPoolExecutor(8) as pool:
        acknowledged = {each for done in pool.map(act, range(8)) for each in done}

    stored = session.run(
        "MATCH (u:User)-[a:REVIEWS|APPROVES|REJECTS|EDITS]->(p:Plan) RETURN type(a), u.id, p.id"
    ).values()
    assert len(stored) == len({tuple(each) for each in stored})
    assert {tuple(each) for each in stored} == {
        (DEEDS[action], user, plan_id) for action, user, plan_id in acknowledged if action in DEEDS
    }
    for plan_id in set(known):
        _check_version(session, plan_id)
    assert [row["seq"] for row in runs.events(run)] == list(range(1, len(set(known)) + 1))
    assert runs.one("verify", run)["ok"]


def _try(driver, action, plan_id, user, name):
    """Do it; return the id of the plan that it was done with, None if it was refused."""
    further = {
        "revise": ", $user, {id: $name, content: $name}",
        "implement": "",
    }.get(action, ", $user")
    statement = f"CALL runs.plan.{action}($plan{further}) YIELD id"
    try:
        found = driver.execute_query(statement, plan=plan_id, user=user, name=name)
    except ClientError as error:
        if re.search(r"SC-91[34]", error.message):
            return None
        raise
    return found.records[0]["id"]


def _check_version(session, plan_id):
    """What was done with a version, step by step, leads to its status; it follows one at most."""
    found = session.run(
        """
        MATCH (p:Plan {id: $id})
        RETURN p.status AS status, p.version AS version,
            [(p)-[:PREVIOUS_VERSION]->(o) | [o.version, o.status]] AS old,
            COUNT { (p)<-[:PREVIOUS_VERSION]-() } AS next,
            COLLECT {
                MATCH (p)<-[a:REVIEWS|APPROVES|REJECTS]-() RETURN type(a) ORDER BY a.timestamp
            } AS deeds
        """,
        id=plan_id,
    ).single()
    assert found["next"] <= 1
    status = "draft"
    if found["old"]:
        [(version, before)] = found["old"]
        status = STEPS["revise"][before]
        assert found["version"] == version + 1
    actions = {deed: action for action, deed in DEEDS.items()}
    for deed in found["deeds"]:
        status = STEPS[actions[deed]][status]
    assert found["status"] in {status, STEPS["implement"].get(status)}
