"""What is seen of runs, on a real Neo4j."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from docs.pages import cypher_blocks
from neo4j.exceptions import ClientError

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
LONG = "x" * 9000


def after(milliseconds):
    return NOON + timedelta(milliseconds=milliseconds)


@pytest.fixture
def branched(runs):
    """A run in which two tools are called side by side."""
    run = runs.new("triage", id="r")
    events = [
        {"type": "workflowStarted", "id": "a", "createdAt": NOON},
        {"type": "llmResponse", "id": "b", "content": "both", "createdAt": after(100)},
        {"type": "toolCall", "id": "c1", "toolName": "search", "toolCallId": "1",
         "args": {"q": "disk"}, "createdAt": after(110)},
        {"type": "toolCall", "id": "c2", "toolName": "read", "toolCallId": "2", "args": "[1]",
         "parentIds": ["b"], "createdAt": after(120)},
        {"type": "toolCallResult", "id": "r2", "toolName": "read", "toolCallId": "2",
         "content": "gone", "metadata": {"isError": True}, "createdAt": after(150)},
        {"type": "toolCallResult", "id": "r1", "toolName": "search", "toolCallId": "1",
         "content": LONG, "parentIds": ["c1"], "createdAt": after(1110)},
        {"type": "llmResponse", "id": "d", "join": True, "createdAt": after(1100)},
        {"type": "workflowState", "id": "e", "state": "completed", "createdAt": after(2000)},
    ]  # fmt: skip
    runs.call("appendMany", run, events)
    return run


# The shape


def test_a_tree_has_parents_children_and_lanes(runs, branched):
    """A branch has a lane of its own, and a join is in the leftmost one again."""
    columns = ("seq", "id", "parentIds", "childIds", "lane")
    rows = runs.call("tree", branched)

    assert [tuple(row[name] for name in columns) for row in rows] == [
        (1, "a", [], ["b"], 0),
        (2, "b", ["a"], ["c1", "c2"], 0),
        (3, "c1", ["b"], ["r1"], 0),
        (4, "c2", ["b"], ["r2"], 1),
        (5, "r2", ["c2"], ["d"], 1),
        (6, "r1", ["c1"], ["d"], 0),
        (7, "d", ["r2", "r1"], ["e"], 0),
        (8, "e", ["d"], [], 0),
    ]  # fmt: skip
    assert rows[0]["type"] == "workflowStarted"


def test_a_fork_has_the_events_it_shares_and_no_others(runs, branched):
    """Children that other runs have are not in the shape of a fork, nor of its origin."""
    runs.one("fork", branched, 4, {"id": "f"})
    runs.append("f", "status", id="mine", parentIds=["b"])

    assert [row["id"] for row in runs.call("tree", "f")] == ["a", "b", "c1", "c2", "mine"]
    children = {row["id"]: row["childIds"] for row in runs.call("tree", "f")}
    assert (children["b"], children["c2"]) == (["c1", "c2", "mine"], [])
    assert "mine" not in str(runs.call("tree", branched))
    assert [row["lane"] for row in runs.call("timeline", "f")] == [0, 0, 0, 1, 2]


def test_a_deleted_event_keeps_its_place(runs, branched):
    """Its type is told, and neither content nor tool; what lists events leaves it out."""
    runs.one("deleteEvent", "c1")

    assert runs.call("tree", branched)[2]["childIds"] == ["r1"]
    assert runs.call("timeline", branched)[2]["label"] == "toolCall deleted"
    assert "c1" not in [row["id"] for row in runs.call("path", "d")]
    assert "search" not in [row["toolName"] for row in runs.call("conversation", branched)[:3]]
    assert runs.call("toolCalls", "search") == []


def test_a_timeline_tells_what_a_picture_shows(runs, branched):
    """Label, lanes, time, and how long after its parents an event was."""
    rows = runs.call("timeline", branched)

    assert [row["label"] for row in rows] == [
        "workflowStarted",
        "llmResponse",
        "toolCall search",
        "toolCall read",
        "toolCallResult read failed",
        "toolCallResult search",
        "llmResponse",
        "workflowState completed",
    ]
    assert rows[6]["parentIds"] == ["r2", "r1"]
    assert rows[6]["parentLanes"] == [1, 0]
    assert rows[4]["createdAt"].to_native() == after(150)
    assert [row["durationMs"] for row in rows] == [None, 100, 10, 20, 30, 1000, 0, 900]
    assert "both" not in str(rows)


def test_a_part_of_a_timeline_has_the_lanes_of_the_whole(runs, branched):
    """`after` and `limit` show some events, `naming` says in whose words."""
    rows = runs.call("timeline", branched, {"cursor": 3, "limit": 2, "naming": "application"})

    assert [(row["seq"], row["lane"], row["label"]) for row in rows] == [
        (4, 1, "tool.call read"),
        (5, 1, "tool.result read failed"),
    ]
    assert [row["type"] for row in rows] == ["tool.call", "tool.result"]
    assert runs.call("timeline", branched, {"limit": 0}) == []


def test_the_name_of_a_tool_is_shown_safely(runs):
    """It is on one line, of some length, and cannot command a terminal."""
    run = runs.new()
    runs.append(run, "toolCall", toolName="a\n\x1b[2Jb" + 60 * "c")

    [row] = runs.call("timeline", run)
    assert row["label"].startswith("toolCall a??[2Jbccc")
    assert len(row["label"]) == len("toolCall ") + 40


def test_events_of_plain_cypher_have_a_place(runs, session):
    """They may lack a time, and parents that are not before them in the run are none."""
    run = runs.new()
    session.run(
        """
        MATCH (r:WorkflowRun {id: $run}) SET r.lastSeq = 2
        CREATE (a:Event {id: 'a', runId: $run, seq: 1, type: 'status'}),
            (b:Event {id: 'b', runId: $run, seq: 2, type: 'status', createdAt: 'today'}),
            (x:Event {id: 'x', runId: 'x', seq: 1, type: 'status'}),
            (b)-[:NEXT]->(a), (x)-[:NEXT]->(a), (a)-[:NEXT]->(b)
        """,
        run=run,
    ).consume()

    rows = runs.call("timeline", run)
    assert [(row["parentIds"], row["createdAt"], row["durationMs"]) for row in rows] == [
        ([], None, None),
        (["a"], None, None),
    ]


def test_odd_events_of_plain_cypher_hide_no_others(runs, session):
    """One without a type or time, or of a type nobody knows, is listed with what it has."""
    run = runs.new()
    session.run(
        """
        MATCH (r:WorkflowRun {id: $run}) SET r.lastSeq = 4
        CREATE (a:Event {id: 'a', runId: $run, seq: 1, createdAt: datetime('2026-01-05T09:00Z')})
            -[:NEXT]->(b:Event {id: 'b', runId: $run, seq: 2, type: 'status'})
            -[:NEXT]->(c:Event {id: 'c', runId: $run, seq: 3, type: 'status', createdAt: 'today'})
            -[:NEXT]->(d:Event {id: 'd', runId: $run, seq: 4, type: 'lunch', content: 'Soup.'})
        """,
        run=run,
    ).consume()

    rows = runs.events(run)
    assert [row["type"] for row in rows] == ["unknown", "status", "status", "lunch"]
    assert [row["createdAt"] is None for row in rows] == [False, True, True, True]
    assert rows[3]["event"]["content"] == "Soup."
    assert runs.call("path", "d") == rows
    told = runs.call("timeline", run, {"naming": "application"})
    assert [row["type"] for row in told] == ["unknown", "status", "status", "lunch"]


# The path


def test_a_path_has_all_that_an_event_comes_after(runs, branched):
    """In order, each once, as `runs.events` tells them; across a fork to the beginning."""
    assert [row["id"] for row in runs.call("path", "r2")] == ["a", "b", "c2", "r2"]
    assert [row["id"] for row in runs.call("path", "d")] == ["a", "b", "c1", "c2", "r2", "r1", "d"]
    assert runs.call("path", "e") == runs.events(branched)
    told = runs.call("path", "a", {"naming": "application"})
    assert [row["type"] for row in told] == ["workflow.started"]

    runs.one("fork", branched, 4, {"id": "f"})
    runs.append("f", id="mine", parentIds=["c1"])
    assert [row["id"] for row in runs.call("path", "mine")] == ["a", "b", "c1", "mine"]


@pytest.fixture(params=["few events", "many relationships"])
def planned(request, session):
    """The graph that the planner knows when it plans the next statements."""
    if request.param == "many relationships":
        session.run("""
            UNWIND range(1, 2000) AS seq
            CREATE (:Event {id: toString(seq), runId: 'other', seq: seq, type: 'status'})
        """).consume()
        session.run("""
            UNWIND range(1, 3000) AS number
            MATCH (a:Event {id: toString(1 + number * 7 % 2000)}),
                (b:Event {id: toString(1 + number * 11 % 2000)})
            CREATE (a)-[:NEXT]->(b)
        """).consume()
    session.run("CALL db.clearQueryCaches()").consume()


@pytest.mark.usefixtures("planned")
def test_a_path_through_many_branches_is_found(runs):
    """Sixty branches that join again make 2^60 ways to an event; each event is told once."""
    run = runs.new()
    events = [{"type": "status", "id": "0"}]
    for turn in range(60):
        above = events[-1]["id"]
        events += [
            {"type": "status", "id": f"{turn}-{side}", "parentIds": [above]} for side in "lr"
        ]
        events.append({"type": "status", "id": f"{turn}-j", "join": True})
    runs.call("appendMany", run, events)

    assert [row["seq"] for row in runs.call("path", "59-j")] == list(range(1, 182))


# Calls of tools


def test_calls_come_with_their_results(runs, branched):
    """Arguments are a MAP if they are one; long texts are told, too."""
    [call] = runs.call("toolCalls", "search")
    created = call.pop("createdAt")

    assert created.to_native() == after(110)
    assert call == {
        "id": "c1", "runId": branched, "toolName": "search", "args": {"q": "disk"},
        "status": "completed", "resultId": "r1", "content": LONG, "isError": False,
        "cursor": "2026-01-02T12:00:00.11Z c1",
    }  # fmt: skip
    [failed] = runs.call("toolCalls", "read", {"status": "failed"})
    assert (failed["args"], failed["content"], failed["isError"]) == (None, "gone", True)
    assert runs.call("toolCalls", "read", {"status": "completed"}) == []
    assert runs.call("toolCalls", "none") == []


def test_a_call_is_marked_until_it_is_answered(runs, session):
    """It is initiated, executing while it runs, and then what its result says."""
    run = runs.new()
    runs.append(run, "toolCall", id="call", toolName="t")
    runs.append(run, "toolCall", id="given", toolName="t", metadata={"status": "queued"})
    status = "MATCH (c:ToolCall {id: $id}) RETURN c.status"
    assert session.run(status, id="call").value() == ["initiated"]
    assert session.run(status, id="given").value() == ["queued"]

    for mark in ("executing", "failed", "executing"):
        assert runs.one("markToolCall", "call", mark) == {
            "id": "call",
            "runId": run,
            "status": mark,
        }
        assert session.run(status, id="call").value() == [mark]
    assert runs.one("verify", run)["ok"]
    for known in ("none", runs.append(run)["id"]):
        with pytest.raises(ClientError, match=r"SC-911.*no call of a tool"):
            runs.one("markToolCall", known, "executing")
    with pytest.raises(ClientError, match=r"SC-204"):
        runs.one("markToolCall", "call", "completed")


def test_an_answered_call_is_not_marked(runs):
    """Its status is what its result says."""
    run = runs.new()
    runs.append(run, "toolCall", id="call", toolName="t", toolCallId="1")
    runs.append(run, "toolCallResult", toolCallId="1")

    with pytest.raises(ClientError, match=r"SC-914.*has its result"):
        runs.one("markToolCall", "call", "failed")
    assert runs.call("toolCalls", "t")[0]["status"] == "completed"


def test_a_call_without_result_is_initiated(runs):
    """Its result is null; the latest of several results counts, long arguments are read."""
    run = runs.new()
    runs.append(run, "toolCall", toolName="t", toolCallId="1", args={"long": LONG})
    [call] = runs.call("toolCalls", "t", {"status": "initiated"})
    assert (call["resultId"], call["content"], call["isError"]) == (None, None, None)
    assert call["args"] == {"long": LONG}

    for text in ("first", "second"):
        runs.append(run, "toolCallResult", toolCallId="1", content=text)
    [call] = runs.call("toolCalls", "t")
    assert (call["status"], call["content"], call["isError"]) == ("completed", "second", False)


def test_calls_are_listed_in_pages(runs, branched):
    """Newest first; `cursor` goes on behind a row, even among equal times."""
    other = runs.new()
    for number in range(3):
        runs.append(other, "toolCall", id=f"o{number}", toolName="search", createdAt=after(500))
    rows = runs.call("toolCalls", "search", {"limit": 2})
    assert [row["id"] for row in rows] == ["o2", "o1"]

    page = {"cursor": rows[-1]["cursor"]}
    assert [row["id"] for row in runs.call("toolCalls", "search", page)] == ["o0", "c1"]
    names = runs.call("toolCalls", "search", {"createdAfter": after(110), "runId": other})
    assert [row["id"] for row in names] == ["o2", "o1", "o0"]


@pytest.mark.parametrize("of_run", [False, True])
def test_pages_of_calls_lose_none_of_one_time_in_different_zones(runs, of_run):
    """Agents in different places may give one instant in different zones."""
    run, tool = runs.new(), "clock"
    for number, hours in enumerate([2, -5, 0, -5]):
        at = NOON.astimezone(timezone(timedelta(hours=hours)))
        runs.append(run, "toolCall", id=f"{of_run}-{number}", toolName=tool, createdAt=at)

    found, page = [], {"limit": 1, **({"runId": run} if of_run else {})}
    while rows := runs.call("toolCalls", tool, page):
        found += [row["id"] for row in rows if row["runId"] == run]
        page["cursor"] = rows[0]["cursor"]

    assert found == [f"{of_run}-{number}" for number in (3, 2, 1, 0)]


def test_calls_of_a_fork_are_those_of_its_lineage(runs, branched):
    """What was called before the fork belongs to it, what was called elsewhere later does not."""
    runs.one("fork", branched, 3, {"id": "f"})
    runs.append("f", "toolCall", id="mine", toolName="read")

    def calls(tool):
        return [row["id"] for row in runs.call("toolCalls", tool, {"runId": "f"})]

    assert calls("read") == ["mine"]
    assert calls("search") == ["c1"]


def test_a_call_that_only_the_other_run_answered_waits_in_a_fork(runs, branched):
    """The result is at a later place than the fork begins; elsewhere the call is completed."""
    runs.one("fork", branched, 3, {"id": "f"})
    [row] = runs.call("toolCalls", "search", {"runId": "f"})
    assert (row["status"], row["resultId"], row["content"]) == ("initiated", None, None)
    assert runs.call("toolCalls", "search", {"runId": "f", "status": "completed"}) == []
    assert len(runs.call("toolCalls", "search", {"runId": "f", "status": "initiated"})) == 1

    runs.one("fork", branched, 6, {"id": "g"})
    for options in ({"runId": "g"}, {"runId": branched}, {}):
        [row] = runs.call("toolCalls", "search", options)
        assert (row["status"], row["resultId"]) == ("completed", "r1")


@pytest.mark.parametrize(
    "args",
    [
        '{"n": 123456789012345678901234567890}',
        '{"half": "\\ud83d"}',
        '{"n": ' * 95 + "1" + "}" * 95,
        '{"n": ' * 2000 + "1" + "}" * 2000,
    ],
    ids=["integer", "surrogate", "deep", "deeper"],
)
def test_arguments_that_cypher_has_no_map_for_are_null(runs, args):
    """A model may write any JSON; one such call spoils no list."""
    run = runs.new()
    runs.append(run, "toolCall", toolName="odd", args=args)
    runs.append(run, "toolCall", toolName="odd", args={"n": 1})

    assert [row["args"] for row in runs.call("toolCalls", "odd")] == [{"n": 1}, None]
    assert runs.events(run)[0]["event"]["args"] == args


# The conversation


def test_a_conversation_has_what_a_model_is_sent(runs):
    """A call and its result name each other, and each row its event and what it is."""
    run = runs.new()
    runs.append(run, "userMessage", id="u", content="What is 1 + 1?")
    runs.append(run, "reasoning", id="r", summary="Add them.")
    runs.append(run, "toolCall", id="c", toolName="add", toolCallId="7", args={"a": [1, 1]})
    runs.append(run, "toolCallResult", id="s", toolCallId="7", content="2")
    runs.append(run, "userMessage", id="m", metadata={"toolCallId": "8"})

    rows = runs.call("conversation", run)
    assert [(row["id"], row["type"], row["toolCallId"]) for row in rows] == [
        ("u", "userMessage", None),
        ("r", "reasoning", None),
        ("c", "toolCall", "7"),
        ("s", "toolCallResult", "7"),
        ("m", "userMessage", "8"),
    ]


def test_a_conversation_has_the_messages_in_order(runs, branched):
    """With calls and results unless they are not wanted; long texts are told, too."""
    rows = runs.call("conversation", branched)

    assert [(row["seq"], row["role"], row["toolName"]) for row in rows] == [
        (2, "assistant", None),
        (3, "tool_call", "search"),
        (4, "tool_call", "read"),
        (5, "tool_result", "read"),
        (6, "tool_result", "search"),
        (7, "assistant", None),
    ]
    assert (rows[0]["content"], rows[4]["content"]) == ("both", LONG)
    assert rows[3]["metadata"] == {"isError": True}
    told = runs.call("conversation", branched, {"tools": False})
    assert [row["seq"] for row in told] == [2, 7]
    told = runs.call("conversation", branched, {"roles": ["tool_call", "user"], "limit": 1})
    assert [row["seq"] for row in told] == [3]
    told = runs.call("conversation", branched, {"cursor": 5, "tools": True})
    assert [row["seq"] for row in told] == [6, 7]


def test_a_conversation_of_a_fork_begins_with_what_it_shares(runs, branched):
    """A page may cover shared and own messages."""
    runs.one("fork", branched, 3, {"id": "f"})
    runs.append("f", "userMessage", content="no, this way")

    rows = runs.call("conversation", "f", {"cursor": 1, "limit": 3})
    assert [row["content"] for row in rows] == ["both", '{"q":"disk"}', "no, this way"]


# The list


@pytest.fixture
def listed(runs, session):
    """Runs of several types, states and origins; `r1` is the oldest."""
    session.run(
        "CREATE (:Issue {id: '7'}), (:Repository {id: '8'}), (:Repository {id: '9'})"
    ).consume()
    for number, run_type in enumerate(["triage", "review", "triage", "review"], start=1):
        runs.new(run_type, id=f"r{number}", initiatedBy="ann" if number < 3 else "bob")
    session.run(
        """
        MATCH (i:Issue {id: '7'}), (p:Repository {id: '8'}), (q:Repository {id: '9'})
        MATCH (a:WorkflowRun {id: 'r1'}), (b:WorkflowRun {id: 'r2'}), (c:WorkflowRun {id: 'r3'})
        CREATE (a)-[:BASED_ON_ISSUE]->(i), (c)-[:BASED_ON_ISSUE]->(i), (c)-[:BASED_ON_ISSUE]->(i),
            (a)-[:BASED_ON_REPOSITORY]->(p), (b)-[:BASED_ON_REPOSITORY]->(p),
            (c)-[:BASED_ON_REPOSITORY]->(q)
        """
    ).consume()
    runs.append("r1", "workflowStarted")
    runs.append("r2", "workflowStarted")
    runs.append("r2", "workflowCompleted")
    runs.append("r3", "workflowState", state="error")


@pytest.mark.usefixtures("listed")
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "r4 r3 r2 r1"),
        ({"type": "review"}, "r4 r2"),
        ({"issueId": "7"}, "r3 r1"),
        ({"repositoryId": "8"}, "r2 r1"),
        ({"userId": "ann"}, "r2 r1"),
        ({"state": "completed"}, "r2"),
        ({"state": "pending"}, "r4"),
        ({"state": "failed"}, "r3"),
        ({"issueId": "7", "type": "triage", "repositoryId": "9", "userId": "bob"}, "r3"),
        ({"issueId": "7", "state": "running"}, "r1"),
        ({"repositoryId": "8", "userId": "bob"}, ""),
        ({"type": "triage", "state": "error", "userId": "bob"}, "r3"),
        ({"type": "review", "limit": 1}, "r4"),
        ({"limit": 0}, ""),
        ({"issueId": "none"}, ""),
    ],
)
def test_runs_are_found_by_what_they_are(runs, options, expected):
    """Each option leaves some out, in any combination; the newest is first."""
    assert " ".join(row["id"] for row in runs.call("list", options)) == expected


@pytest.mark.usefixtures("listed")
def test_a_listed_run_tells_how_it_stands(runs):
    """State, times and place are those that `runs.get` tells."""
    [row] = runs.call("list", {"state": "completed"})
    found = runs.one("get", "r2")["run"]

    assert row == {name: found[name] for name in row if name != "cursor"} | {
        "cursor": row["cursor"]
    }
    assert row["lastSeq"] == 2
    assert runs.call("list", {"type": "review"})[0]["startedAt"] is None


@pytest.mark.usefixtures("listed")
def test_runs_are_listed_in_pages(runs, session):
    """`cursor` goes on behind a row, even among runs of one transaction."""
    session.run("MATCH (r:WorkflowRun) SET r.createdAt = datetime('2026-01-02T12:00Z')").consume()
    for options in ({}, {"userId": "bob"}, {"type": "review"}, {"state": "pending"}):
        whole, told, page = runs.call("list", options), [], {}
        while rows := runs.call("list", {**options, **page, "limit": 1}):
            told += rows
            page = {"cursor": rows[-1]["cursor"]}
        assert told == whole


@pytest.mark.usefixtures("listed")
def test_a_list_tells_states_as_they_are_asked_for(runs, session):
    """What nobody has touched has timed out, whatever it was; `failed` is an error."""
    session.run(
        """
        MATCH (r:WorkflowRun {id: 'r1'}) SET r.touchedAt = datetime('2026-01-01T00:00Z')
        WITH r MATCH (s:WorkflowRun {id: 'r3'}) SET s.state = 'failed'
        """
    ).consume()

    def listed(state):
        rows = runs.call("list", {"state": state})
        assert {row["state"] for row in rows} <= {state}
        return [row["id"] for row in rows]

    assert (listed("timedOut"), listed("running"), listed("error")) == (["r1"], [], ["r3"])


# Bad input


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("timeline", ["r", {"lanes": 3}], "SC-204.*`lanes`"),
        ("timeline", ["r", {"naming": "mine"}], "SC-204.*`options.naming`"),
        ("path", ["a", {"limits": 1}], "SC-204.*`limits`.*Did you mean `limit`"),
        ("tree", ["r", {"cursor": -1}], "SC-204.*`options.cursor`"),
        ("conversation", ["r", {"roles": ["nobody"]}], r"SC-204.*`options.roles\[0\]`"),
        ("conversation", ["r", {"tools": "no"}], "SC-204.*`options.tools`"),
        ("conversation", ["r", {"cursor": -1}], "SC-204.*`options.cursor`"),
        ("toolCalls", ["t", {"createdAfter": "noon"}], "SC-204.*ZONED DATETIME"),
        ("toolCalls", ["t", {"cursor": "x"}], "SC-204.*`options.cursor`"),
        ("list", [{"state": "lost"}], "SC-204.*`options.state`"),
        ("list", [{"cursor": "noon r1"}], "SC-204.*`options.cursor`"),
        ("list", [{"cursor": "2026-01-02T12:00Z"}], "SC-204.*`options.cursor`"),
        ("list", [{"limit": -1}], "SC-204.*`options.limit`"),
        ("list", [{"issueId": 7}], "SC-204.*`options.issueId`"),
        ("list", [{"colour": "red"}], "SC-204.*`colour`"),
    ],
)
@pytest.mark.usefixtures("branched")
def test_what_cannot_be_asked_is_refused(runs, name, arguments, error):
    """The error names what is wrong."""
    with pytest.raises(ClientError, match=error):
        runs.call(name, *arguments)


@pytest.mark.parametrize(
    "block", [each for each in cypher_blocks("runs") if each.page.startswith("docs/runs")], ids=str
)
def test_the_examples_of_the_page_are_accepted(session, block):
    """Neo4j plans every Cypher block of the pages about runs."""
    session.run(f"EXPLAIN {block.text}").consume()
