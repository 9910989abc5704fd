"""What a pull request resolves by GitHub's own word, merged into a real Neo4j.

The sidecar runs inside the test, with a token, and its GitHub answers GraphQL by GitHub's schema.
"""

import json
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus

import neo4j
import pytest
from fix_github import ANN, BOB
from fix_graphql import Graph

from sidecypher import Node
from sidecypher.cli.demo.replay import _Handler
from sidecypher.testing import ProcedureEnvironment
from sidecypher_procedures.github.procedures import merge_pull_request, merge_pull_requests

RESOLVED = "MATCH (p:PullRequest)-[:RESOLVES]->(i:Issue) RETURN p.id, i.id"


@pytest.fixture
def queries(github_schema, world, monkeypatch):
    """Let the world's GitHub answer GraphQL; what it was asked."""
    asked = []

    def answer(handler):
        query = json.loads(handler.rfile.read(int(handler.headers["content-length"])))
        asked.append(query)
        graph = Graph(github_schema, handler.server.objects.get)
        found = graph.answer(query["query"], query["variables"])
        handler._answer(HTTPStatus.OK, json.dumps(found).encode())

    monkeypatch.setattr(_Handler, "do_POST", answer)
    return asked


@pytest.fixture
def with_token(github, monkeypatch):
    """Settings of a sidecar that has a token for the world's GitHub."""
    monkeypatch.setenv("SIDECYPHER_GITHUB_BASE_URL", github.url)
    monkeypatch.setenv("SIDECYPHER_GITHUB_TOKEN", "secret")


@pytest.fixture
def merge(session, world, with_token):
    """Merge a pull request of the world's repository, by a sidecar with a token."""
    del with_token

    def rows(number, **options):
        return merged(session, "ann", world.name, number, options)

    return rows


def merged(runner, *arguments, name="github.mergePullRequest"):
    """Merge pull requests by a sidecar inside the test; its rows."""

    def run(cypher, parameters):
        records = [dict(record) for record in runner.run(cypher, parameters)]
        return [{name: value(found) for name, found in each.items()} for each in records]

    with ProcedureEnvironment(merge_pull_request, merge_pull_requests, run=run) as environment:
        return environment.call(name, *arguments)


def value(found):
    """A value as procedures get it."""
    if not isinstance(found, neo4j.graph.Node):
        return found
    return Node(found.element_id, frozenset(found.labels), {"id": found["id"]})


def test_it_resolves_what_github_says(session, world, queries, merge):
    """Issues linked by hand count, of its repository and of others; its text does not matter."""
    other = f"bob/{world.name}-other"
    repository, elsewhere = world.repository(), world.repository(f"{world.name}-other", BOB)
    first, far = world.issue(1), world.issue(7, user=BOB, where=other)
    world.issue(2)
    paths = [f"/repos/ann/{world.name}/issues/1", f"/repos/{other}/issues/7", "/repos/a/b/issues/8"]
    pull = world.pull_request(3, "Fixes #2", base="next", closing=paths)

    [row] = merge(3)

    assert (row["node"].properties["id"], row["error"]) == (pull, None)
    assert sorted(session.run(RESOLVED).values()) == sorted([[pull, first], [pull, far]])
    found = session.run(
        "MATCH (u:User)<-[:CREATED_BY]-(i:Issue)-[:BELONGS_TO]->(r:Repository)-[:OWNED_BY]->(o) "
        "MATCH (r)-[:HAS_ISSUES]->(i) "
        "RETURN i.id, i.number, i.repositoryId, r.id, r.fullNameKey, u.id, o.login"
    ).values()
    assert sorted(found) == sorted(
        [
            [first, 1, repository, repository, f"ann/{world.name}", "11", "ann"],
            [far, 7, elsewhere, elsewhere, other, "12", "bob"],
        ]
    )
    assert len(queries) == 1


def test_it_resolves_nothing_that_is_not_linked(session, world, queries, merge):
    """Without a link nothing is resolved, whatever the text says."""
    world.repository()
    world.issue(1)
    world.pull_request(3, "Fixes #1")

    assert [row["error"] for row in merge(3)] == [None]
    assert session.run(RESOLVED).values() == []
    assert len(queries) == 1


def test_the_first_hundred_count(session, world, queries, merge):
    """However many are linked, one call is made."""
    world.repository()
    for number in range(1, 103):
        world.issue(number, user=ANN)
    paths = [f"/repos/ann/{world.name}/issues/{number}" for number in range(1, 103)]
    world.pull_request(200, "", closing=paths)

    merge(200)

    assert len(session.run(RESOLVED).values()) == 100
    assert len(queries) == 1


def test_many_pull_requests_cost_one_query(session, world, queries, with_token):
    """A list of them is asked for what they resolve by fifty, and each resolves its own."""
    del with_token
    world.repository()
    issues = {number: world.issue(number) for number in range(1, 61)}
    pulls = {
        number: world.pull_request(
            number + 100, "", state="open", closing=[f"/repos/ann/{world.name}/issues/{number}"]
        )
        for number in issues
    }

    [row] = merged(session, "ann", world.name, {}, name="github.mergePullRequests")

    assert (row["merged"], row["done"], len(queries)) == (60, True, 2)
    expected = [[pulls[number], issues[number]] for number in issues]
    assert sorted(session.run(RESOLVED).values()) == sorted(expected)


def test_its_text_counts_where_rest_is_wanted(session, world, queries, merge):
    """With `api: 'rest'` no query is made, and what the text says is believed."""
    world.repository()
    first = world.issue(1)
    pull = world.pull_request(3, "Fixes #1", closing=[f"/repos/ann/{world.name}/issues/2"])

    merge(3, api="rest")

    assert session.run(RESOLVED).values() == [[pull, first]]
    assert queries == []


@pytest.mark.usefixtures("queries", "with_token")
def test_merges_that_resolve_each_others_issues_wait_for_each_other(session, driver, world):
    """Two repositories are locked in one order by all, whichever a pull request is of."""
    names = [world.name, f"{world.name}-other"]
    for name in names:
        world.repository(name)
        world.issue(1, where=f"ann/{name}")
    both = [f"/repos/ann/{name}/issues/1" for name in names]
    for name in names:
        world.name = name
        world.pull_request(2, "", closing=both)

    def write(name):
        with driver.session() as mine, mine.begin_transaction() as transaction:
            merged(transaction, "ann", name, 2, {})
            transaction.commit()

    with ThreadPoolExecutor(8) as writers:
        list(writers.map(write, names * 8))

    assert len(session.run(RESOLVED).values()) == 4
    assert session.run("MATCH (n:Repository|Issue) RETURN count(n)").single().value() == 4
