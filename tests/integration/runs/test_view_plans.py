"""How Neo4j finds what is seen of runs, profiled on 2 000 runs and calls."""

from datetime import UTC, datetime

import pytest

from sidecypher_procedures.runs import conversation, listing, timeline
from sidecypher_procedures.runs.conversation import _MESSAGES
from sidecypher_procedures.runs.timeline import _ANCESTORS

DATA = """
    CREATE (issue:Issue {id: '7'}), (repository:Repository {id: '7'}), (user:User {id: '7'}),
        (parent:WorkflowRun {id: 'parent'})
    WITH *
    UNWIND range(1, 2000) AS n
    WITH *, toString(n) AS id, datetime('2026-01-01T00:00Z') + duration({hours: n}) AS at
    CREATE (r:WorkflowRun {id: id, type: 't' + toString(n % 20), createdAt: at, touchedAt: at})
    SET r.state = CASE n % 20 WHEN 0 THEN 'running' ELSE 'completed' END
    CREATE (e:Event:Message:ToolCall {
        id: id, runId: toString(n / 20), seq: n % 20, role: 'tool_call', type: 'toolCall',
        toolName: 'tool' + toString(n % 20), createdAt: at
    })
    FOREACH (_ IN CASE n % 100 WHEN 0 THEN [1] ELSE [] END |
        CREATE (r)-[:BASED_ON_ISSUE]->(issue), (r)-[:BASED_ON_REPOSITORY]->(repository),
            (r)-[:INITIATED_BY]->(user), (r)-[:CHILD_OF]->(parent)
    )
"""
LIST = {
    **dict.fromkeys(("type", "issue", "repository", "user", "parent", "state", "stored")),
    "timeout": 10**6,
    "limit": 5,
    "before": "2026-03-01T00:00Z",
    "beforeId": "",
}
CALLS = {
    "runId": None,
    "parts": [],
    "toolName": "tool7",
    "status": None,
    "after": datetime(2026, 1, 1, tzinfo=UTC),
    "before": "2026-03-01T00:00Z",
    "beforeId": "",
    "limit": 5,
}
PART = {"runId": "7", "after": 0, "upTo": 100}


@pytest.fixture
def operators(session):
    """Run a statement; give its operators, each with what it tells, and how many rows it gave."""
    session.run(DATA).consume()
    session.run("CALL db.prepareForReplanning()").consume()

    def operators(statement, **parameters):
        result = session.run(f"PROFILE {statement}", parameters)
        rows = len(list(result))
        waiting, found = [result.consume().profile], []
        while waiting:
            plan = waiting.pop()
            details = plan["args"].get("Details", "")
            found.append((plan["operatorType"].partition("@")[0], details))
            waiting += plan.get("children", ())
        return found, rows

    return operators


def sorts(found):
    return [name for name, _ in found if "Sort" in name or "Top" in name]


@pytest.mark.slow
def test_every_statement_begins_at_an_index(operators):
    """None reads all nodes of a label; what an index has in order is not sorted."""
    ordered = [
        (listing._ALL, LIST, "createdAt"),
        (listing._OF_TYPE, {**LIST, "type": "t7"}, "type, createdAt"),
        (conversation._ALL, CALLS, "toolName, createdAt"),
        (timeline._SHAPE, PART, "runId, seq"),
        (_MESSAGES, {**PART, "roles": ["tool_call"], "limit": 5}, "runId, seq"),
    ]
    state = {**LIST, "state": "completed", "stored": ["completed"]}
    others = [
        (listing._OF_STATE, state, "state, createdAt"),
        (listing._OF_ISSUE, {**LIST, "issue": "7"}, "Issue(id)"),
        (listing._OF_PARENT, {**LIST, "parent": "parent"}, "WorkflowRun(id)"),
        (listing._OF_USER, {**LIST, "user": "7"}, "User(id)"),
        (listing._OF_REPOSITORY, {**LIST, "repository": "7"}, "Repository(id)"),
        (
            conversation._OF_RUN,
            {**CALLS, "runId": PART["runId"], "parts": [PART]},
            "runId, toolName, seq",
        ),
        (_ANCESTORS, {"id": "7", "after": 0, "limit": 5}, "Event(id)"),
    ]
    for statement, parameters, index in [*ordered, *others]:
        found, rows = operators(statement, **parameters)
        assert rows, statement
        assert [each for each in found if each[0].endswith("Scan") and "Index" not in each[0]] == []
        seeks = [details for name, details in found if "IndexSeek" in name]
        assert [details for details in seeks if index in details], (statement, seeks)
        if (statement, parameters, index) in ordered:
            assert sorts(found) == [], statement
    # Of each state no more than wanted are read; those of several are brought into one order.
    found, _ = operators(listing._OF_STATE, **state)
    assert len(sorts(found)) == 1


def test_the_ways_to_an_event_are_not_counted(operators):
    """The search for what is before an event goes to each of them once."""
    found, _ = operators(_ANCESTORS, id="7", after=0, limit=5)

    assert [name for name, _ in found if "Pruning,BFS" in name]
