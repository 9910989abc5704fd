"""`runs.fork` on a real Neo4j."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from neo4j.exceptions import ClientError


@pytest.fixture
def origin(runs):
    """A run that has started and has five events, `o1` to `o5`."""
    run = runs.new("triage", id="origin")
    runs.append(run, "workflowStarted", id="o1")
    for number in range(2, 6):
        runs.append(run, "userMessage", id=f"o{number}", content=f"text {number}")
    return run


def ids(runs, run):
    return [row["id"] for row in runs.events(run)]


def test_a_fork_shares_the_beginning(runs, origin):
    """Its events are those of its origin up to the place, and then its own."""
    row = runs.one("fork", origin, 3, {"id": "fork"})
    assert row == {"id": "fork", "forkedFrom": origin, "seq": 3}
    assert ids(runs, "fork") == ["o1", "o2", "o3"]
    assert runs.one("state", "fork") == {"id": "fork", "state": "running", "lastSeq": 3}

    assert runs.append("fork", id="f4")["seq"] == 4
    runs.append(origin, id="o6")

    assert ids(runs, "fork") == ["o1", "o2", "o3", "f4"]
    assert runs.events("fork")[-1]["parentIds"] == ["o3"]
    assert ids(runs, origin) == ["o1", "o2", "o3", "o4", "o5", "o6"]
    assert runs.one("verify", "fork")["ok"]
    assert runs.one("verify", origin)["ok"]
    assert [row["seq"] for row in runs.events("fork", cursor=2, limit=2)] == [3, 4]


def test_a_fork_stands_as_its_origin_stood(runs, origin):
    """State and result are those after the last event that is shared."""
    runs.append(origin, "workflowCancelled")
    runs.append(origin)
    early, late = (runs.one("fork", origin, seq)["id"] for seq in (5, 7))

    assert runs.one("state", early)["state"] == "running"
    runs.append(early, "workflowCompleted")
    found = runs.one("get", late)["run"]
    assert (found["state"], found["result"]) == ("error", "cancelled")
    assert found["startedAt"] == found["completedAt"] == found["createdAt"]
    with pytest.raises(ClientError, match=r"SC-908.*cancelled"):
        runs.append(late, "workflowStarted")


def test_a_fork_of_a_fork(runs, origin):
    """It shares of each run what that one shares, whichever part the place is in."""
    runs.one("fork", origin, 3, {"id": "a"})
    runs.call("appendMany", "a", [{"type": "status", "id": f"a{n}"} for n in range(4, 7)])
    runs.one("fork", "a", 5, {"id": "b"})
    runs.append("b", id="b6")
    runs.one("fork", "b", 2, {"id": "c"})
    runs.append("c", id="c3")
    runs.one("fork", "b", 6, {"id": "d"})
    runs.append("d", id="d7", parentIds=["a4", "b6", "o1"])

    assert ids(runs, "b") == ["o1", "o2", "o3", "a4", "a5", "b6"]
    assert ids(runs, "c") == ["o1", "o2", "c3"]
    assert ids(runs, "d") == ["o1", "o2", "o3", "a4", "a5", "b6", "d7"]
    for run in ("a", "b", "c", "d", origin):
        assert runs.one("verify", run)["ok"]
        seqs = [row["seq"] for row in runs.events(run)]
        assert seqs == list(range(1, len(seqs) + 1))


def test_a_fork_joins_what_is_open_in_it(runs):
    """Of the shared events those are open that nothing follows in the fork itself."""
    run = runs.new()
    runs.append(run, id="first")
    for name in ("left", "right"):
        runs.append(run, id=name, parentIds=["first"])
    fork = runs.one("fork", run, 3)["id"]
    runs.append(run, id="theirs", join=True)
    runs.append(fork, id="third", parentIds=["first"])
    runs.append(fork, id="ours", join=True)

    assert sorted(runs.events(fork)[-1]["parentIds"]) == ["left", "right", "third"]


def test_what_is_not_shared_is_no_parent(runs, origin):
    """An event of the origin behind the place is one of another run."""
    fork = runs.one("fork", origin, 3)["id"]
    runs.append(fork, id="f4", parentIds=["o1", "o2"])
    with pytest.raises(ClientError, match=r"SC-904.*`o4`.*another run"):
        runs.append(fork, parentIds=["o4"])
    with pytest.raises(ClientError, match=r"SC-904.*`f4`.*another run"):
        runs.append(origin, parentIds=["f4"])


def test_a_shared_event_is_a_duplicate_in_the_fork(runs, origin):
    """What is given again with the same id and content is there already, in either run."""
    fork = runs.one("fork", origin, 3)["id"]
    again = runs.append(fork, "userMessage", id="o2", content="text 2")

    assert (again["seq"], again["duplicate"]) == (2, True)


def test_a_fork_is_begun_once(runs, origin, session):
    """Its id, origin and place find it again, whatever was appended; another run is refused."""
    runs.one("fork", origin, 3, {"id": "fork"})
    runs.append("fork", id="f4")
    runs.one("fork", origin, 3, {"id": "fork"})

    assert ids(runs, "fork") == ["o1", "o2", "o3", "f4"]
    assert session.run("MATCH (:WorkflowRun)-[f:FORKED_FROM]->() RETURN f.seq").value() == [3]
    for run, seq, options in ((origin, 2, {}), (origin, 3, {"type": "other"}), ("fork", 3, {})):
        with pytest.raises(ClientError, match=r"SC-906"):
            runs.one("fork", run, seq, {"id": "fork", **options})
    with pytest.raises(ClientError, match=r"SC-906.*not this fork"):
        runs.one("fork", origin, 3, {"id": runs.new("triage")})


def test_a_fork_has_options_of_its_own(runs, origin, session):
    """They are those of `runs.create`; the type is that of its origin unless another is given."""
    plain = runs.one("fork", origin, 1)["id"]
    own = runs.one("fork", origin, 1, {"type": "retry", "metadata": {"a": 1}, "initiatedBy": "ann"})

    assert runs.one("get", plain)["run"]["workflowType"] == "triage"
    found = runs.one("get", own["id"])["run"]
    assert (found["type"], found["metadata"]) == ("retry", {"a": 1})
    assert session.run(
        "MATCH (r:WorkflowRun {id: $id})-[:INITIATED_BY]->(u) RETURN u.id", id=own["id"]
    ).value() == ["ann"]
    assert session.run(
        "MATCH (:WorkflowRun {id: $id})-[:STARTS_WITH]->(e) RETURN e.id", id=plain
    ).value() == ["o1"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("none", 1), "SC-903.*`none`"),
        (("origin", 6), "SC-911.*no event at 6.*at 5"),
        (("origin", 0), "SC-911.*no event at 0"),
        (("origin", -1), "SC-911"),
        (("origin", 1, {"colour": "red"}), "SC-204.*no field `colour`"),
        (("origin", 1, {"type": 7}), "SC-204.*`options.type`.*INTEGER where STRING"),
        (("origin", 1, {"triggeredBy": "none"}), "SC-909"),
    ],
)
def test_what_is_no_fork_is_refused(runs, origin, session, arguments, error):
    """The error names the thing, and no run is there."""
    with pytest.raises(ClientError, match=error):
        runs.one("fork", *arguments)
    assert session.run("MATCH (r:WorkflowRun) RETURN r.id").value() == [origin]


def test_a_result_does_not_answer_a_shared_call(runs, session):
    """The call of the origin stays as it was: what a fork finds out is not the origin's."""
    run = runs.new()
    runs.append(run, "toolCall", id="call", toolName="t", toolCallId="1")
    fork = runs.one("fork", run, 1)["id"]
    runs.append(fork, "toolCallResult", id="result", toolCallId="1")

    found = session.run("MATCH (c:ToolCall) RETURN c.status, COUNT {(c)-[:HAS_RESULT]->()}")
    assert found.values() == [["initiated", 0]]


def test_origin_and_forks_go_on_at_once(runs, driver, origin):
    """Writers of a run and of its forks, and who forks meanwhile, leave each run right."""
    forks = [runs.one("fork", origin, 3)["id"] for _ in range(3)]

    def write(run):
        with driver.session() as session:
            for _ in range(15):
                session.run("CALL runs.append($run, {type: 'status'})", run=run).consume()

    def fork(number):
        with driver.session() as session:
            session.run(
                "CALL runs.state($run) YIELD lastSeq CALL runs.fork($run, lastSeq, {id: $id}) "
                "YIELD id RETURN id",
                run=origin,
                id=f"late-{number}",
            ).consume()

    late = [f"late-{number}" for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        busy = [pool.submit(write, run) for run in (origin, *forks, origin)]
        busy += [pool.submit(fork, number) for number in range(8)]
        for each in busy:
            each.result()

    lengths = {run: runs.one("state", run)["lastSeq"] for run in (origin, *forks)}
    assert lengths == {origin: 35} | dict.fromkeys(forks, 18)
    assert all(runs.one("verify", run)["ok"] for run in (origin, *forks, *late))
