"""The seed's queries on a real Neo4j, answered by recordings of the real GitHub."""

import random
from importlib.resources import files
from pathlib import Path

import pytest
from docs.pages import cypher_blocks
from neo4j.exceptions import ClientError

from sidecypher_schema import split

GRAPH = Path(__file__).parents[1] / "data" / "github" / "graph.cypher"


def statements(file):
    return [statement.text for statement in split(file.read_text(encoding="utf-8")).statements]


QUERIES = statements(files("sidecypher.cli.demo") / "queries.cypher")
PARAMETERS = {"owner": "Codertocat", "repoName": "Hello-World", "issueNumber": 1, "prNumber": 2}


@pytest.fixture
def graph(session):
    """A small graph of real repositories, issues and pull requests."""
    for statement in statements(GRAPH):
        session.run(statement).consume()
    return session


def test_the_issue_query_of_the_seed(graph):
    """An issue found in the graph comes with title, body, state and labels from GitHub."""
    rows = graph.run(QUERIES[0], PARAMETERS).data()

    assert {
        "i.number": 1,
        "title": "Spelling error in the README file",
        "body": "It looks like you accidently spelled 'commit' with two 't's.",
        "state": "open",
        "labels": ["bug"],
    } in rows


def test_the_pull_request_query_of_the_seed(graph):
    """A pull request found in the graph comes with what changes of it."""
    rows = graph.run(QUERIES[1], PARAMETERS).data()

    assert [(row["pr.number"], row["title"], row["state"]) for row in rows] == [
        (2, "Update the README with new information.", "closed")
    ]


def test_the_repository_query_of_the_seed(graph):
    """A repository found by name and owner comes with its settings."""
    rows = graph.run(QUERIES[2], PARAMETERS).data()

    assert [(row["r.name"], row["defaultBranch"], row["visibility"]) for row in rows] == [
        ("Hello-World", "master", "public")
    ]


ISSUE = """number id nodeId title body state stateReason labels assignees author milestone comments
    locked isPullRequest createdAt updatedAt closedAt url fetchedAt stale error"""
PULL_REQUEST = """number id nodeId title body state draft merged mergeable mergeableState branch
    baseBranch headSha headRepo reviewers labels assignees author additions deletions changedFiles
    commits comments createdAt updatedAt closedAt mergedAt url fetchedAt stale error"""
REPOSITORY = """id nodeId owner name fullName description defaultBranch visibility settings language
    topics license stars forks openIssues createdAt updatedAt pushedAt url fetchedAt stale error"""


@pytest.mark.parametrize(
    ("call", "columns"),
    [
        ("github.getIssue('Codertocat', 'Hello-World', 1)", ISSUE),
        ("github.getPullRequest('Codertocat', 'Hello-World', 2)", PULL_REQUEST),
        ("github.getRepository('Codertocat', 'Hello-World')", REPOSITORY),
    ],
)
def test_a_standalone_call_yields_all_columns(session, call, columns):
    """`CALL ... YIELD *`, as the seed writes it, gives every column in its order."""
    row = session.run(f"CALL {call} YIELD *").single()

    assert row.keys() == columns.split()
    assert row["url"].startswith("https://github.com/Codertocat/Hello-World")
    assert row["createdAt"].iso_format().startswith("2019-05-15T15:")


def test_what_is_not_there_gives_no_row(session):
    """An issue that GitHub does not have gives no row, as MATCH would."""
    assert session.run("CALL github.getIssue('Codertocat', 'Hello-World', 999999)").data() == []


@pytest.mark.parametrize(
    ("owner", "repo", "number"),
    [("o/../../x", "r", 1), ("o", "r?x", 1), ("o", "..", 1), ("o", "r", 0), ("o", "r", -1)],
)
def test_hostile_names_and_numbers_never_leave_the_sidecar(session, github, owner, repo, number):
    """A name that could reach another path is refused before any request is made."""
    before = next(github.uses)

    with pytest.raises(ClientError, match=r"SC-501"):
        session.run("CALL github.getIssue($o, $r, $n)", o=owner, r=repo, n=number).consume()

    assert next(github.uses) == before + 1


def test_a_warm_read_asks_github_nothing(session, github):
    """A second read within the cache's time makes no request."""
    call = "CALL github.getRepository('Codertocat', 'Hello-World') YIELD stars RETURN stars"
    session.run(call).consume()
    before = next(github.uses)

    session.run("UNWIND range(1, 100) AS n " + call).consume()

    assert next(github.uses) == before + 1


def test_what_is_left_of_the_limits(session):
    """`github.rateLimit` gives a row for each resource, with the end of its period."""
    rows = session.run("CALL github.rateLimit() YIELD *").data()

    assert [row["resource"] for row in rows] == ["core", "graphql", "search"]
    assert {row["limit"] for row in rows} == {5000}
    assert all(row["remaining"] + row["used"] == row["limit"] for row in rows)
    assert all(row["resetAt"].tzinfo is not None for row in rows)


def test_the_console_has_the_budget_and_what_was_saved(session, blocks, github, sidecar_http):
    """The panel has the limits as meters, and counts rows from the cache apart from requests."""
    session.run("CALL github.rateLimit() YIELD *").consume()
    call = "CALL github.getRepository('Codertocat', 'Hello-World') YIELD stars RETURN stars"
    session.run(call).consume()
    before = blocks("github")
    uses = next(github.uses)

    # An option that no call has had, so that Neo4j does not give the rows again by itself.
    age = 3600 + random.random()
    session.run(call.replace("'Hello-World'", "'Hello-World', {maxAge: $age}"), age=age).consume()

    after = blocks("github")
    assert next(github.uses) == uses + 1
    meters = [(each["title"], each["limit"]) for each in after if each["kind"] == "meter"]
    assert ("Requests left: core", 5000) in meters
    saved = [
        row[1] - old[1] for row, old in zip(after[-1]["rows"], before[-1]["rows"], strict=True)
    ]
    assert saved[:2] == [1, 0]
    assert "<dt>Neo4j connected</dt><dd>1</dd>" in sidecar_http.get("/").text


@pytest.mark.parametrize("block", cypher_blocks("github"), ids=str)
def test_the_queries_of_the_pages_are_accepted(session, block):
    """Every query that a page shows is one that Neo4j plans with this plugin."""
    session.run(f"EXPLAIN {block.text}").consume()


def test_what_was_dropped_is_fetched_again(session):
    """`github.invalidate` makes the next call of a query ask GitHub, and tells what it dropped."""
    session.run("CALL github.getRepository('electron', 'electron') YIELD id RETURN id").consume()
    drop = "CALL github.invalidate('electron', 'electron') YIELD dropped RETURN dropped"

    assert session.run(drop).value() == [1]
    assert session.run(drop).value() == [0]
