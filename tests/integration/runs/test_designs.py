"""The queries of docs/runs-queries.md, on a graph that procedures have written."""

import json

import pytest
from docs.pages import ROOT, blocks, code_in, page_named, rows, section
from neo4j.exceptions import ClientError

SECTION = section("docs/runs-queries.md", "Queries")
(
    RUNS_OF_TYPE,
    RUNS_OF_ISSUE,
    BASES,
    PATHS,
    STREAM,
    SEQUENCE,
    FOLLOWED,
    ANSWERED,
    REVIEWS,
    PLANS,
    VERSIONS,
    COMMENTS,
    CONVERSATION,
    WORDS,
) = [
    block.text
    for block in blocks("cypher", pages=[ROOT / "docs/runs-queries.md"])
    if block.text in SECTION
]
SHA = "0123456789abcdef0123456789abcdef01234567"
EVENTS = [
    {"type": "workflowStarted", "id": "started"},
    {"type": "systemPrompt", "id": "system", "content": "You triage."},
    {"type": "userMessage", "id": "user", "content": "What is wrong?"},
    {"type": "llmResponse", "id": "answer", "content": "I look.", "executedBy": "agent",
     "respondsTo": "user", "metadata": {"model": "m1"}},
    {"type": "toolCall", "id": "read", "toolName": "read", "toolCallId": "1", "args": {"n": 1}},
    {"type": "toolCall", "id": "search", "toolName": "search", "toolCallId": "2",
     "args": {"q": "typo"}, "parentIds": ["answer"]},
    {"type": "toolCallResult", "id": "text", "toolName": "read", "toolCallId": "1",
     "content": "a text", "parentIds": ["read"]},
    {"type": "toolCallResult", "id": "hits", "toolCallId": "2", "content": "two hits"},
    {"type": "llmResponse", "id": "advice", "content": "Correct it.", "join": True},
    {"type": "workflowCompleted", "id": "completed"},
]  # fmt: skip


@pytest.fixture
def graph(runs, session, world):
    """A run about an issue, with branches, tools and a plan in two versions."""
    repository, issue = world.repository(), world.issue(1)
    world.comment(1, 901)
    world.pull_request(2, "Fixes #1")
    where = {"owner": "ann", "repo": world.name}
    session.run("CALL github.mergeIssue($owner, $repo, 1, {comments: true})", where).consume()
    delivery = json.dumps({"action": "opened", "sender": {"login": "ann", "id": 11}})
    session.run("CALL github.receiveWebhook('d', 'issues', $payload)", payload=delivery).consume()
    based_on = {"issue": where | {"number": 1}, "commit": where | {"sha": SHA}}
    run = runs.new("triage", id="w", basedOn=based_on, initiatedBy="ann", triggeredBy="d")
    runs.call("appendMany", run, EVENTS)
    runs.one("attachPullRequest", run, where | {"number": 2})
    other = runs.new("triage", basedOn={"issue": issue}, parentRunId=run)
    runs.append(other, "workflowStarted")
    review = runs.new("review", id="review")
    runs.append(review, "llmResponse", content="It is a typo.", references=[issue])
    draft = {"id": "draft", "content": "Correct it.", "implements": [issue]}
    runs.one("plan.create", review, draft)
    runs.one("plan.review", "draft", "ann")
    runs.one("plan.reject", "draft", "ann")
    runs.one("plan.comment", "draft", "ann", {"id": "comment", "content": "Too short."})
    suggestion = {"id": "suggestion", "content": "All of it.", "suggestsEdit": True}
    runs.one("plan.comment", "draft", "ann", suggestion)
    runs.one("plan.revise", "draft", "ann", {"id": "revised", "content": "Correct all of it."})
    runs.one("plan.approve", "revised", "ann")
    pull = session.run("MATCH (p:PullRequest) RETURN p.id").single().value()
    runs.one("plan.implement", "revised", {"pullRequestId": pull})
    return {"issue": issue, "repository": repository, "other": other}


@pytest.fixture
def ask(session):
    def rows(query, **parameters):
        return [tuple(row) for row in session.run(query, parameters).values()]

    return rows


def ids(rows):
    return [tuple(node["id"] for node in row) for row in rows]


def test_runs_of_a_type(ask, graph):
    """The newest first."""
    assert ids(ask(RUNS_OF_TYPE, workflowType="triage")) == [(graph["other"],), ("w",)]


@pytest.mark.usefixtures("graph")
def test_the_latest_runs_for_an_issue(ask):
    """Both runs that are based on it, with how they stand."""
    newest, oldest = ask(RUNS_OF_ISSUE, issueNumber=1)

    assert (newest[:2], oldest[:2]) == (("triage", "running"), ("triage", "completed"))
    assert newest[3] is None
    assert oldest[2] == oldest[3] < newest[2]


def test_what_a_run_is_about(ask, graph):
    """Its issue, the issue's repository, and its commit."""
    assert ask(BASES, workflowRunId="w") == [
        (["Commit"], SHA),
        (["Issue"], graph["issue"]),
        (["Repository"], graph["repository"]),
    ]


@pytest.mark.usefixtures("graph")
def test_the_paths_of_a_run(ask):
    """One for each branch, through the join to the end."""
    found = [[node["id"] for node in path.nodes] for (path,) in ask(PATHS, startNodeId="answer")]

    end = ["advice", "completed"]
    assert sorted(found) == [
        ["answer", "read", "text", "hits", *end],
        ["answer", "search", *end],
    ]


@pytest.mark.usefixtures("graph")
def test_all_that_happened_by_its_branches(ask):
    """Each event once, in the order of the run."""
    found = ask(STREAM, workflowRunId="w")

    assert found == [(seq, event["type"]) for seq, event in enumerate(EVENTS, 1)]


@pytest.mark.usefixtures("graph")
def test_the_complete_sequence_of_a_run(ask):
    """What happened, in its order; a plan tells its status and a call its tool."""
    found = ask(SEQUENCE, workflowRunId="w")

    assert [(id_, type_) for id_, type_, *_ in found] == [(e["id"], e["type"]) for e in EVENTS]
    told = {id_: content for id_, *_, content in found}
    assert (told["user"], told["read"], told["completed"]) == ("What is wrong?", "read", None)
    assert [content for *_, content in ask(SEQUENCE, workflowRunId="review")] == [
        "It is a typo.",
        "Plan: rejected",
        "Too short.",
        "All of it.",
        "Plan: implemented",
    ]


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("query", [FOLLOWED, ANSWERED])
def test_a_tools_calls_with_their_results(ask, query):
    """The call and what it gave."""
    assert ids(ask(query, toolName="read")) == [("read", "text")]


@pytest.mark.usefixtures("graph")
def test_results_of_calls_side_by_side(ask):
    """A result that follows another result is found by what it answers."""
    assert ids(ask(ANSWERED, toolName="search")) == [("search", "hits")]


@pytest.mark.usefixtures("graph")
def test_the_review_history_of_a_plan(ask):
    """The latest first."""
    first, second = (ask(REVIEWS, planId=plan) for plan in ("draft", "revised"))

    assert [row[:2] for row in first] == [("ann", "REJECTS"), ("ann", "REVIEWS")]
    assert [row[:2] for row in second] == [("ann", "APPROVES"), ("ann", "EDITS")]
    assert first[0][2] >= first[1][2]


@pytest.mark.usefixtures("graph")
def test_all_plans(ask):
    """The oldest first."""
    assert ids(ask(PLANS)) == [("draft",), ("revised",)]


@pytest.mark.usefixtures("graph")
def test_the_versions_of_a_plan(ask):
    """A path to each version, from the one that is asked for backwards."""
    found = [[node["id"] for node in path.nodes] for (path,) in ask(VERSIONS, planId="revised")]

    assert sorted(found) == [["revised"], ["revised", "draft"]]


@pytest.mark.usefixtures("graph")
def test_the_comments_on_plans(ask):
    """Each with its plan, the oldest first."""
    assert ids(ask(COMMENTS)) == [("draft", "comment"), ("draft", "suggestion")]


@pytest.mark.usefixtures("graph")
def test_a_whole_conversation(ask):
    """All messages, their metadata as JSON."""
    found = ask(CONVERSATION, workflowId="w")

    assert [role for role, *_ in found] == [
        *("system", "user", "assistant", "tool_call", "tool_call"),
        *("tool_result", "tool_result", "assistant"),
    ]
    assert json.loads(found[2][2]) == {"model": "m1"}


@pytest.mark.usefixtures("graph")
def test_a_conversation_without_its_tools(ask):
    """What people and the model have said."""
    assert ask(WORDS, workflowId="w") == [
        ("system", "You triage."),
        ("user", "What is wrong?"),
        ("assistant", "I look."),
        ("assistant", "Correct it."),
    ]


LABELS = {
    *("Repository", "Issue", "PullRequest", "Comment", "Commit", "User", "GithubWebhookEvent"),
    *("WorkflowRun", "Event", "Message", "Plan", "ReviewComment", "ToolCall", "ToolResult"),
    "AIAgent",
}
TYPES = {
    *("HAS_ISSUES", "HAS_PRS", "OWNED_BY", "BELONGS_TO", "CREATED_BY", "HAS_COMMENTS", "RESOLVES"),
    *("BASED_ON", "BASED_ON_ISSUE", "BASED_ON_REPOSITORY", "BASED_ON_COMMIT", "HAS_RUNS"),
    *("INITIATED_BY", "TRIGGERED_BY", "GENERATED_BY", "STARTS_WITH", "NEXT", "PART_OF"),
    *("CHILD_OF", "EXECUTED_BY", "HAS_RESULT", "RESULT_OF", "RESPONDS_TO", "REFERENCES"),
    *("GENERATED_PLAN", "PREVIOUS_VERSION", "REVIEWS", "APPROVES", "REJECTS", "EDITS"),
    *("COMMENTS_ON", "SUGGESTS_EDIT_TO", "IMPLEMENTS", "RESULTS_IN"),
}


@pytest.mark.usefixtures("graph")
def test_everything_of_the_designs_is_written_by_procedures(ask):
    """Each label and type of relationship is there, and docs/schema.md says who writes it."""
    labels = {label for (label,) in ask("MATCH (n) UNWIND labels(n) AS l RETURN DISTINCT l")}
    types = {type_ for (type_,) in ask("MATCH ()-[r]->() RETURN DISTINCT type(r)")}
    told = [
        name
        for row in rows(page_named("docs/schema.md"), "label or type")
        for name in code_in(row[0])
    ]

    assert (labels, types) == (LABELS, TYPES)
    assert sorted(told) == sorted(LABELS | TYPES)


# As the designs have them, where docs/runs-queries.md shows another, and what comes of it.
NODES = "MATCH (node)-[:PART_OF]->(run:WorkflowRun {id: $workflowRunId})"
DESIGNED = {
    "labels": (f"{NODES} RETURN DISTINCT labels(node)[0] AS type", [("Event",)]),
    "stream": (
        """
        MATCH (run:WorkflowRun {id: $workflowRunId})
        MATCH (run)-[:STARTS_WITH|NEXT*]->(e:Event {id: 'advice'})
        RETURN e.id
        """,
        [("advice",), ("advice",)],
    ),
    "paths": (
        """
        MATCH (startNode) WHERE id(startNode) = $startNodeId
        MATCH path = (startNode)-[:NEXT*0..]->(endNode)
        WHERE NOT (endNode)-[:NEXT]->()
        RETURN endNode.id
        """,
        [("completed",), ("completed",)],
    ),
    "names": ("MATCH (user:User)-[:APPROVES]->(plan:Plan) RETURN user.name", [(None,)]),
}


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize(("query", "expected"), DESIGNED.values(), ids=DESIGNED)
def test_why_a_query_is_not_as_designed(ask, query, expected):
    """As it was designed it runs, but says less, or says it more than once."""
    [(start,)] = ask("MATCH (e:Event {id: 'answer'}) RETURN id(e)")

    assert ask(query, workflowRunId="w", startNodeId=start) == expected


@pytest.mark.usefixtures("graph")
def test_every_step_has_a_time(ask):
    """The steps of a run are in order by `timestamp`, as designed."""
    by_time = ask(f"{NODES} RETURN node.id ORDER BY node.timestamp", workflowRunId="w")

    assert by_time == ask(f"{NODES} RETURN node.id ORDER BY node.seq", workflowRunId="w")
    assert ("started",) in by_time


@pytest.mark.usefixtures("graph")
def test_metadata_is_no_map_of_the_graph(ask):
    """A query that looks into `metadata` is refused by Neo4j."""
    query = "MATCH (call:Message) WHERE call.metadata.model = 'm1' RETURN call"
    with pytest.raises(ClientError, match=r"Type mismatch|Map"):
        ask(query)
