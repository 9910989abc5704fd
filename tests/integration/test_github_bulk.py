"""Issues and pull requests merged from the pages of a list, into a real Neo4j."""

import random

import pytest
from fix_github import ANN, BOB
from neo4j.exceptions import ClientError, Neo4jError

SEEDS = range(3)
USERS = [ANN, BOB, {"login": "ghost", "id": 10_137, "type": "User"}, None]


def graph(session):
    """All nodes with their properties and all relationships; when a login was seen aside."""
    nodes = session.run(
        "MATCH (n) RETURN labels(n), CASE WHEN n:User THEN n {.*, eventAt: null} ELSE n {.*} END"
    ).values()
    edges = session.run("MATCH (a)-[r]->(b) RETURN a.id, type(r), b.id").values()
    return sorted(map(str, nodes)), sorted(map(str, edges))


@pytest.fixture
def bulk(session, world):
    """Merge issues or pull requests of the world's repository; the one row."""

    def merge(what, **options):
        call = f"CALL github.merge{what}('ann', $name, $options)"
        return session.run(call, name=world.name, options=options).data()

    return merge


def fill(world, seed, issues=12, pulls=8):
    """Invent issues and pull requests, which close some of the issues by their texts."""
    choose = random.Random(seed)
    world.repository()
    for number in range(1, issues + 1):
        state = choose.choice(["open", "closed"])
        world.issue(number, user=choose.choice(USERS), state=state)
    for number in range(issues + 1, issues + pulls + 1):
        world.issue(number, pull_request={"url": "x"}, state="open")
        closed = " ".join(f"Fixes #{choose.randint(1, issues + pulls)}." for _ in range(3))
        base = choose.choice(["main", "main", "next"])
        world.pull_request(number, closed, user=choose.choice(USERS), base=base, state="open")


@pytest.mark.parametrize("seed", SEEDS)
def test_a_list_becomes_the_graph_of_single_merges(session, world, bulk, seed):
    """The same nodes, labels, properties and relationships, and a second time changes nothing."""
    fill(world, seed)
    for number in range(1, 13):
        session.run("CALL github.mergeIssue('ann', $r, $n)", r=world.name, n=number).consume()
    for number in range(13, 21):
        session.run("CALL github.mergePullRequest('ann', $r, $n)", r=world.name, n=number).consume()
    expected = graph(session)
    session.run("MATCH (n) DETACH DELETE n").consume()

    for _ in range(2):
        [issues], [pulls] = bulk("Issues"), bulk("PullRequests")

        assert graph(session) == expected
        assert (issues["merged"], issues["skipped"], issues["done"]) == (12, 8, True)
        assert (pulls["merged"], pulls["skipped"], pulls["done"]) == (8, 0, True)
        assert issues["error"] is pulls["error"] is None


@pytest.mark.parametrize("what", ["Issues", "PullRequests"])
def test_a_list_is_merged_piece_by_piece(session, world, bulk, what):
    """Each piece continues by the cursor of the one before, until the list is done."""
    fill(world, 1)
    [whole] = bulk(what)
    expected = graph(session)
    session.run("MATCH (n) DETACH DELETE n").consume()
    merged, cursor, pieces = 0, None, 0

    while True:
        [row] = bulk(what, limit=7, cursor=cursor)
        merged, cursor, pieces = merged + row["merged"], row["cursor"], pieces + 1
        if row["done"]:
            break

    assert (merged, pieces) == (whole["merged"], 3 if what == "Issues" else 2)
    assert graph(session) == expected
    [again] = bulk(what, limit=7, cursor=cursor)
    assert (again["merged"], again["done"], again["cursor"]) == (0, True, cursor)


def test_a_page_of_100_is_one_request(github, world, bulk):
    """Three pages and the repository are four requests, however many issues there are."""
    world.repository()
    for number in range(1, 251):
        world.issue(number, state="open")
    before = next(github.uses)

    [row] = bulk("Issues")

    assert (row["merged"], row["done"]) == (250, True)
    assert next(github.uses) - before == 5


def test_only_what_is_wanted_is_merged(session, world, bulk):
    """By state, and pull requests by the time of their last change."""
    fill(world, 2, pulls=0)
    world.pull_request(30, "", state="closed", updated_at="2026-01-03T00:00:00Z")
    world.pull_request(29, "", state="open", updated_at="2026-01-01T00:00:00Z")

    assert bulk("Issues", state="closed")[0]["merged"] < 12
    call = "CALL github.mergePullRequests('ann', $r, {since: datetime('2026-01-02T00:00:00Z')})"
    [row] = session.run(call, r=world.name).data()

    assert (row["merged"], row["done"]) == (1, True)
    assert session.run("MATCH (p:PullRequest) RETURN p.number").value() == [30]


def test_a_rollback_takes_all_with_it(driver, session, world):
    """All is written in the caller's transaction."""
    fill(world, 1)

    with driver.session() as other, other.begin_transaction() as transaction:
        row = transaction.run("CALL github.mergeIssues('ann', $r)", r=world.name).single()
        assert row["merged"] == 12
        assert transaction.run("MATCH (i:Issue) RETURN count(i)").single().value() == 12
        transaction.rollback()

    assert graph(session) == ([], [])


@pytest.fixture
def breaking(github, monkeypatch):
    """Let lists of GitHub fail from their second page on, until the function returned is called."""

    def begin():
        whole, pages = github.objects.list, []

        def broken(path):
            pages.append(path)
            return whole(path) if len(pages) == 1 else None

        monkeypatch.setattr(github.objects, "list", broken)
        return lambda: monkeypatch.setattr(github.objects, "list", whole)

    return begin


def test_a_page_that_fails_ends_the_merge(session, world, bulk, breaking):
    """By default nothing is written; with onError 'null' what was read is, with its cursor."""
    world.repository()
    for number in range(1, 151):
        world.issue(number, state="open")
    mend = breaking()

    with pytest.raises(ClientError, match="SC-513"):
        bulk("Issues")
    assert graph(session) == ([], [])
    mend()
    mend = breaking()
    [row] = bulk("Issues", onError="null")

    assert (row["merged"], row["done"], row["error"]["code"]) == (100, False, "SC-513")
    mend()
    [rest] = bulk("Issues", cursor=row["cursor"])
    assert (rest["merged"], rest["done"]) == (50, True)
    assert session.run("MATCH (i:Issue) RETURN count(i)").single().value() == 150


@pytest.mark.parametrize("what", ["Issues", "PullRequests"])
def test_a_repository_that_is_missing_is_an_error(session, bulk, what):
    """As in a single merge, since it was to be written."""
    with pytest.raises(ClientError, match="SC-503"):
        bulk(what)
    assert bulk(what, onError="skip") == []
    [row] = bulk(what, onError="null")
    assert (row["error"]["code"], row["merged"]) == ("SC-503", None)
    assert graph(session) == ([], [])


@pytest.mark.parametrize(
    "options",
    [
        {"limit": -1},
        {"limit": 10_001},
        {"cursor": "x"},
        {"state": "merged"},
        {"since": "2026"},
        {"comments": True},
        {"perPage": 5},
    ],
)
def test_unusable_options_are_refused_by_name(bulk, options):
    """Before any request."""
    with pytest.raises(Neo4jError, match="SC-204"):
        bulk("Issues", **options)
