"""The queries of docs/schema.md, each profiled on 1 000 nodes of every label."""

from datetime import UTC, datetime

import pytest
from docs.pages import ROOT, blocks, code_in, page_named, rows, section

from sidecypher_procedures.runs import attachments
from sidecypher_schema import shipped_scripts
from sidecypher_schema.catalog import declared

PAGE = page_named("docs/schema.md")
SERVED = {code_in(row[0])[0]: row for row in rows(PAGE, "name")}
FURTHER = [code_in(row[0])[0] for row in rows(PAGE, "query")]
DESIGNS = section("docs/runs-queries.md", "Queries")
DESIGNED = [
    each for each in blocks("cypher", pages=[ROOT / "docs/runs-queries.md"]) if each.text in DESIGNS
]

# The rules were checked, so that the trigger leaves them alone.
DATA = (
    """
    UNWIND range(1, 1000) AS n
    WITH n, toString(n) AS id
    CREATE (:WORKFLOW {name: 'word' + id, version: 1, entry: 'root'})
    CREATE (t:STEP {id: id, workflow: 'word' + toString(n % 50), version: n / 50})
    CREATE (:STEP {id: 'drawn' + id})
    CREATE (s:SESSION {
        id: id, workflow: 'word' + toString(n % 50),
        created_at: datetime('2026-01-01') + duration({hours: n}),
        status: CASE n % 50 WHEN 0 THEN 'active' ELSE 's' + toString(n % 50) END
    })
    SET s.lease_until = s.created_at
    CREATE (s)-[:CURRENT]->(t), (s)-[:HAS_CLAIM]->(:StepClaim {sessionId: id, stepId: 'word' + id})
    CREATE (s)-[:AWAITS]->(:InputRequest {
        id: id, sessionId: id, seq: 1, createdAt: s.created_at,
        status: CASE n % 50 WHEN 0 THEN 'open' ELSE 'answered' END
    })
    CREATE (s)-[:HAS_OUTPUT]->(o:OUTPUT {
        sessionId: id, stepId: 'word' + id, cycle: 0, seq: 2, value: '1'
    })-[:OF_STEP]->(t)
    CREATE (s)-[:HAS_MESSAGE]->(:ChatMessage {sessionId: id, seq: 3, role: 'user', content: id})
    CREATE (s)-[:HAS_ERROR]->(:StepError {sessionId: id, seq: 4, error: id})
    """,
    """
    UNWIND range(1, 1000) AS n
    WITH n, toString(n) AS id, 'word' + toString(n % 50) AS repo
    CREATE (:Repo {repo_id: id})
    CREATE (:Entity {
        id: id, repo_id: repo, name_lower: 'word' + id, qualified_name: 'word' + id,
        file_path: 'f' + id, start_line: n
    })
    CREATE (:Chunk {id: id, repo_id: repo, file_path: 'f' + id})
    CREATE (:Community {repo_id: repo, community_id: n})
    """,
    """
    UNWIND range(1, 1000) AS n
    WITH n, toString(n) AS id
    CREATE (r:Repository {id: id, owner: 'o' + id, name: 'r' + id, fullNameKey: 'o/r' + id})
    CREATE (i:Issue {id: id, repositoryId: 'r' + toString(n % 50), number: n})
    CREATE (p:PullRequest {id: id, repositoryId: 'r' + toString(n % 50), number: n})
    CREATE (u:User {id: id, login: 'u' + id})
    CREATE (:Comment {id: id}), (:Commit {sha: id}), (:GithubWebhookEvent {id: id})
    CREATE (i)-[:BELONGS_TO]->(r), (p)-[:BELONGS_TO]->(r)
    """,
    """
    UNWIND range(1, 1000) AS n
    WITH n, toString(n) AS id
    MATCH (i:Issue {id: id}), (u:User {id: id})
    CREATE (w:WorkflowRun {id: id, type: 't' + toString(n % 50), state: 's' + toString(n % 50)})
    SET w.workflowType = w.type, w.status = w.state
    SET w.startedAt = datetime('2026-01-01') + duration({hours: n})
    SET w.createdAt = w.startedAt, w.completedAt = w.startedAt
    CREATE (e:Event:Message:ToolCall {
        id: id, runId: 'run' + toString(n % 50), seq: n, role: 'tool_call',
        toolName: 'tool' + toString(n % 50), toolCallId: 'call' + toString(n % 500),
        content: 'word' + id, createdAt: w.createdAt
    })
    CREATE (x:Event:Message:ToolResult {id: 'x' + id, runId: 'x' + id, seq: 1, role: 'tool_result'})
    CREATE (p:Event:Message:Plan {
        id: 'p' + id, runId: 'p' + id, seq: 1,
        role: CASE n % 50 WHEN 0 THEN 'assistant' ELSE 'other' END,
        status: 's' + toString(n % 50), timestamp: datetime('2026-01-01') + duration({hours: n})
    })
    CREATE (c:Event:Message:ReviewComment {
        id: 'c' + id, runId: 'c' + id, seq: 1,
        role: CASE n % 50 WHEN 0 THEN 'user' ELSE 'other' END,
        timestamp: datetime('2026-01-01') + duration({hours: n})
    })
    CREATE (:Payload {sha256: id}), (:AIAgent {id: id}), (:ArchivedRun {id: id})
    CREATE (i)-[:HAS_RUNS]->(w), (e)-[:PART_OF]->(w), (e)-[:NEXT]->(x), (c)-[:COMMENTS_ON]->(p)
    CREATE (u)-[:REVIEWS {timestamp: datetime()}]->(p), (e)-[:HAS_RESULT]->(x)
    CREATE (w)-[:BASED_ON]->(i), (w)-[:BASED_ON_ISSUE]->(i), (w)-[:INITIATED_BY]->(u)
    """,
    """
    UNWIND range(1, 1000) AS n
    WITH n, toString(n) AS id
    CREATE (e:Extraction {extractionId: id}), (s:Session {id: id}), (:Artifact {id: id})
    CREATE (:RuleScope {
        key: id, user: 'u' + toString(n % 50), scope: 'global',
        scopeId: CASE WHEN n <= 50 THEN '' ELSE id END, rev: 1
    })
    CREATE (r:StyleRule {
        ruleId: id, user: 'u' + toString(n % 50), scope: 'global', scopeId: '',
        slot: 'slot' + toString(n / 50), value: 'formal', checkedRev: 1
    })
    CREATE (c:Concept {key: id, user: 'u' + toString(n % 50), name: 'word' + id})
    CREATE (f:Fact {factId: id, user: 'u', fromKey: id, toKey: id})
    CREATE (e)-[:CREATED]->(r), (e)-[:ASSERTED]->(r), (e)-[:ASSERTED]->(c), (e)-[:ASSERTED]->(f)
    CREATE (e)-[:EXTRACTED_FROM]->(s), (c)-[:RELATED_TO {factId: id}]->(c)
    CREATE (r)-[:CONTRADICTS {
        key: id, reason: id, createdAt: datetime(), extractionId: id, detector: 'slots',
        detectorVersion: '1', verdict: 'conflict', layer: 'typed', strategy: 'most-recent-wins'
    }]->(r)
    """,
)
PARAMETERS = {
    **dict.fromkeys(("id", "sha", "key"), "7"),
    "runId": "run7",
    "repositoryId": "r7",
    "number": 7,
    "owner": "o7",
    "login": "u7",
    "after": 0,
    "type": "t7",
    "state": "s7",
    "status": "s7",
    "tool": "tool7",
    "callId": "call7",
    "since": datetime(2026, 7, 1, tzinfo=UTC),
    "until": datetime(2026, 2, 1, tzinfo=UTC),
    "repo": "word7",
    "file": "f7",
    "line": 7,
    "words": "word7",
    "part": "ord77",
    "user": "u7",
    "scope": "global",
    "scopeId": "",
    "slot": "slot7",
    "name": "word7",
    **dict.fromkeys(("workflowRunId", "workflowId", "startNodeId"), "7"),
    "workflowType": "t7",
    "issueNumber": 7,
    "toolName": "tool7",
    "planId": "p7",
    "nodes": [],
}
ATTACHING = {
    **{
        name: kind.find
        for name, kind in vars(attachments).items()
        if isinstance(kind, attachments.Kind)
    },
    **{name: getattr(attachments, name) for name in ("_ATTACH", "_INITIATORS")},
}


@pytest.fixture(scope="module")
def filled(driver):
    """A session on a graph with 1 000 nodes of each label."""
    with driver.session() as session:
        delete(session, "")
        for statement in DATA:
            session.run(statement).consume()
        session.run("CALL db.prepareForReplanning()").consume()
        yield session
        # An Extraction goes with or after what hangs on it.
        delete(session, ":StyleRule|Concept|Fact")
        delete(session, "")


def delete(session, labels):
    """Delete nodes in portions: with triggers, all at once may be more than the heap holds."""
    portions = f"MATCH (n{labels}) CALL (n) {{ DETACH DELETE n }} IN TRANSACTIONS OF 10000 ROWS"
    session.run(portions).consume()


def operators(session, query):
    """Return the operators of a query that was run, each with what it tells."""
    waiting, found = [session.run(f"PROFILE {query}", PARAMETERS).consume().profile], []
    while waiting:
        plan = waiting.pop()
        found.append((plan["operatorType"].partition("@")[0], plan["args"].get("Details", "")))
        waiting += plan.get("children", ())
    return found


def scans(found):
    """Return what reads all nodes or relationships of the graph, or of a label or type."""
    return [name for name, _ in found if name.endswith("Scan") and "Index" not in name]


@pytest.mark.slow
def test_every_constraint_and_index_is_documented():
    """docs/schema.md has each constraint and index of the migrations with its properties."""
    kinds = {"FULLTEXT": "full text", "UNIQUE": "unique", "RANGE": "index", "TEXT": "text"}
    found = {}
    for each in declared(shipped_scripts().migrations):
        item = each.item
        on = f"{', '.join(item.labels)} ({', '.join(item.properties)})"
        found[item.name] = (kinds[item.type], on)

    assert {name: (row[1], code_in(row[2])[0]) for name, row in SERVED.items()} == found


@pytest.mark.parametrize("name", SERVED)
def test_an_index_serves_its_query(filled, name):
    """The documented query seeks in this index, scans nothing and sorts nothing."""
    _, kind, on, query = SERVED[name]
    found = operators(filled, code_in(query)[0])

    assert scans(found) == []
    assert [operator for operator, _ in found if "Sort" in operator or "Top" in operator] == []
    if kind != "full text":
        wanted = code_in(on)[0].replace(" (", "(")
        reads = "IndexContainsScan" if kind == "text" else "IndexSeek"
        assert [each for each in found if wanted in each[1] and reads in each[0]]


@pytest.mark.parametrize("query", FURTHER)
def test_a_query_through_relationships_begins_at_an_index(filled, query):
    """The documented query scans nothing."""
    found = operators(filled, query)

    assert scans(found) == []
    assert [operator for operator, _ in found if "IndexSeek" in operator]


@pytest.mark.parametrize("block", DESIGNED, ids=str)
def test_a_query_of_the_designs_begins_at_an_index(filled, block):
    """What docs/runs-queries.md shows scans nothing."""
    found = operators(filled, block.text)

    assert scans(found) == []
    assert [operator for operator, _ in found if "IndexSeek" in operator]


@pytest.mark.parametrize("statement", ATTACHING.values(), ids=ATTACHING)
def test_what_attaches_a_run_begins_at_an_index(filled, statement):
    """Each statement of `runs.attach...` scans nothing."""
    found = operators(filled, statement)

    assert scans(found) == []
    assert [operator for operator, _ in found if "IndexSeek" in operator]
