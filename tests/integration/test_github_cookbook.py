"""The recipes of the pages of `github`, and the seed's queries, on a graph made by merging."""

import itertools
import re
import shlex
from datetime import UTC, datetime
from importlib.resources import files

import pytest
from docs.pages import blocks, cypher_blocks, section
from fix_github import BOB
from neo4j.exceptions import Neo4jError

from sidecypher_schema import split

PAGES = "docs/github.md", "docs/github-merging.md"
RECIPES = section(PAGES[0], "Recipes") + section(PAGES[1], "Queries on the merged graph")
QUERIES = [
    block.text
    for block in cypher_blocks("github")
    if block.page in PAGES and block.text in f"{RECIPES}\n"
]
(
    ALL_ISSUES,
    ALL_PULL_REQUESTS,
    BY_LABEL,
    LAST_WORD,
    MERGEABLE,
    LEFT_OPEN,
    MISPLACED,
    NEWEST,
    IMPORT,
    BY_STATE,
    CHANGED,
    ANYTHING,
) = QUERIES
OF_EVERY_REPOSITORY = [
    block
    for block in cypher_blocks("github")
    if re.search(r"(->|^MATCH )\(r:Repository\)(\s|$)", block.text)
]
HELLO = {"owner": "Codertocat", "repo": "Hello-World"}
OF_THE_SEED = {"owner": "Codertocat", "repoName": "Hello-World", "issueNumber": 1, "prNumber": 2}
# Thirteen issues, which no longer exist on GitHub itself.
MANY = {
    "owner": "octokit-fixture-org",
    "repo": "tmp-scenario-paginate-issues-20220719043836917-izyoe",
}


@pytest.fixture
def ask(session):
    """Run a query of the pages; its rows as tuples."""

    def rows(query, parameters, **further):
        return [tuple(row) for row in session.run(query, parameters, **further).values()]

    return rows


@pytest.fixture
def graph(ask):
    """The graph that the pages' own queries make of two repositories."""
    for repository in (HELLO, MANY):
        ask(ALL_ISSUES, repository)
    ask(ALL_PULL_REQUESTS, HELLO)


def test_the_first_rows_are_those_that_the_page_shows(server):
    """The third step prints what is below it, from the recorded repository."""
    step = [block for block in blocks("sh", "text") if block.page == PAGES[0]][2:4]
    command, shown = (block.text for block in step)

    done = server.command(*shlex.split(command)[1:])

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == shown.splitlines()


def test_the_newest_issues_cost_one_request(ask, github, world):
    """A LIMIT ends the list after its first page, however many there are."""
    world.repository()
    for number in range(1, 151):
        world.issue(number, title=f"T{number}", state="open")
    where = {"owner": "ann", "repo": world.name}
    before = next(github.uses)

    assert ask(NEWEST, where) == [(n, f"T{n}") for n in range(150, 145, -1)]
    assert next(github.uses) == before + 2
    assert ask("CALL github.listIssues($owner, $repo) YIELD id RETURN count(*)", where) == [(150,)]
    assert next(github.uses) == before + 5


def test_all_issues_are_merged(ask, session):
    """Every issue has its node, those that are pull requests left out, however often it is run."""
    assert [ask(ALL_ISSUES, MANY), ask(ALL_ISSUES, MANY), ask(ALL_ISSUES, HELLO)] == [
        [(13,)],
        [(13,)],
        [(1,)],
    ]
    assert session.run("MATCH (i:Issue) RETURN count(i) AS n").single()["n"] == 14


def test_an_import_asks_for_no_issue_that_the_list_had(ask, github, world):
    """The list costs a request, and the repository one; the issues cost none."""
    world.repository()
    for number in range(1, 4):
        world.issue(number)
    before = next(github.uses)

    assert ask(ALL_ISSUES, {"owner": "ann", "repo": world.name}) == [(3,)]
    assert next(github.uses) == before + 3


def test_an_import_goes_on_where_it_broke_off(ask, session, github, world, monkeypatch):
    """Each page is committed with its cursor; a further run merges the rest, and then nothing."""
    world.repository()
    for number in range(1, 251):
        world.issue(number, state="open")
    where = {"owner": "ann", "repo": world.name}
    whole = github.objects.list
    lists = itertools.count(1)
    monkeypatch.setattr(
        github.objects, "list", lambda path: whole(path) if next(lists) <= 2 else None
    )
    with pytest.raises(Neo4jError, match="SC-5"):
        ask(IMPORT, where, pages=10)
    assert session.run("MATCH (i:Issue) RETURN count(i)").single().value() == 200
    monkeypatch.setattr(github.objects, "list", whole)

    assert ask(IMPORT, where, pages=10) == [(50,)]
    before = next(github.uses)
    assert ask(IMPORT, where, pages=10) == [(0,)]
    assert next(github.uses) == before + 1
    assert session.run("MATCH (i:Issue) RETURN count(i)").single().value() == 250
    found = session.run("MATCH (i:GithubImport) RETURN i.done").value()
    assert found == [True]


def test_any_path_is_rows_of_maps(ask, github, world):
    """Each entry of a list is a MAP with GitHub's own names, page by page up to the limit."""
    world.repository()
    for number in range(1, 151):
        world.issue(number, title=f"T{number}")
    before = next(github.uses)

    found = ask(ANYTHING, {"owner": "ann", "repo": world.name})

    assert sorted(found) == [(number, f"T{number}", "ann") for number in range(1, 151)]
    assert next(github.uses) == before + 3


def test_all_pull_requests_are_merged(ask, world):
    """Every pull request has its node, and relationships to the issues it resolves."""
    assert ask(ALL_PULL_REQUESTS, HELLO) == [(2, 0)]


def test_open_issues_by_label(ask):
    """The labels come with the list."""
    assert ask(BY_LABEL, HELLO) == [("bug", 2)]


@pytest.mark.usefixtures("graph")
def test_the_last_word_on_an_issue(ask):
    """The comments are read live, for the issues of the graph."""
    [(number, author, at)] = ask(LAST_WORD, HELLO)

    assert (number, author) == (1, "Codertocat")
    assert at.to_native() == datetime.fromisoformat("2019-05-15T15:20:21Z")


@pytest.mark.usefixtures("graph")
def test_issues_by_state(ask, session):
    """All states are asked for in one batch, and what is missing is counted too."""
    session.run(
        "MATCH (r:Repository {name: 'Hello-World'}) CREATE (:Issue {number: 99})-[:BELONGS_TO]->(r)"
    ).consume()

    assert ask(BY_STATE, {}) == [("missing", 1), ("open", 14)]


def test_what_has_changed(ask):
    """GitHub is asked for what changed since a moment; the replay does not filter by it."""
    found = ask(CHANGED, HELLO, since=datetime(2019, 1, 1, tzinfo=UTC))

    assert sorted(number for number, *_ in found) == [1, 2]


def test_mergeable_pull_requests(ask, session, world):
    """What GitHub says can be merged or computes, and what could not be read, with its error."""
    world.repository()
    where = {"owner": "ann", "repo": world.name}
    states = [{"mergeable": True}, {"mergeable": False}, {"mergeable": None}, {"draft": True}]
    for number, state in enumerate(states, start=1):
        world.pull_request(number, "", **{"state": "open", "draft": False, **state})
        session.run("CALL github.mergePullRequest($owner, $repo, $n)", **where, n=number).consume()
    session.run(
        "MATCH (r:Repository) CREATE (:PullRequest {number: 5})-[:BELONGS_TO]->(r)"
    ).consume()

    assert sorted((number, code) for number, *_, code in ask(MERGEABLE, where)) == [
        (1, None),
        (3, None),
        (5, "SC-503"),
    ]


def test_issues_left_open(ask, session, world):
    """An issue that a merged pull request resolves, and that is open."""
    world.repository()
    world.issue(1, state="open", title="A", user=BOB)
    world.issue(2, state="closed")
    world.pull_request(3, "Fixes #1, fixes #2", merged=True)
    where = {"owner": "ann", "repo": world.name}
    session.run("CALL github.mergePullRequest($owner, $repo, 3)", where).consume()

    assert ask(LEFT_OPEN, where) == [(1, "A", 3)]


@pytest.mark.usefixtures("graph")
def test_misplaced_issues(ask, session):
    """An issue that is gone, and one whose place another has taken."""
    session.run("MATCH (i:Issue {id: '444500041'}) SET i.id = 'other'").consume()
    session.run("MATCH (i:Issue {number: 13}) SET i.number = 14").consume()

    assert sorted(ask(MISPLACED, {})) == [
        ("codertocat/hello-world", 1),
        (f"{MANY['owner']}/{MANY['repo']}", 14),
    ]


@pytest.mark.usefixtures("graph")
def test_the_queries_of_the_seed_find_what_was_merged(session):
    """The three examples run as they are written, on nodes that no one made by hand."""
    script = files("sidecypher.cli.demo").joinpath("queries.cypher").read_text("utf-8")
    issue, pull, repository = (
        session.run(statement.text, OF_THE_SEED).data() for statement in split(script).statements
    )

    assert "Spelling error in the README file" in [row["title"] for row in issue]
    assert [row["pr.number"] for row in pull] == [2]
    assert [row["r.name"] for row in repository] == ["Hello-World"]


@pytest.mark.parametrize("block", OF_EVERY_REPOSITORY, ids=str)
def test_a_repository_without_a_name_stops_no_query(session, world, block):
    """One whose name another has got is left out, and the other's rows are there."""
    session.run(
        "CREATE (r:Repository {id: '1', owner: 'ann', name: $name}) "
        "CREATE (p:PullRequest {id: '2', number: 2})-[:BELONGS_TO]->(r) "
        "CREATE (p)-[:RESOLVES]->(:Issue {id: '3', number: 1})-[:BELONGS_TO]->(r)",
        name=world.name,
    ).consume()
    world.repository()
    world.issue(1, state="open")
    world.pull_request(2, "Fixes #1", merged=True, state="closed")
    merge = "CALL github.mergePullRequest('ann', $name, 2) YIELD node SET node:Merged"
    session.run(merge, name=world.name).consume()
    session.run(
        "MATCH (r:Repository {name: $name}) CREATE (:Issue {number: 9})-[:BELONGS_TO]->(r)",
        name=world.name,
    ).consume()
    assert session.run("MATCH (r:Repository) RETURN count(r.name), count(r)").values() == [[1, 2]]

    rows = session.run(block.text, issueNumber=1, prNumber=2).data()

    assert rows
    assert not any("SC-2" in str(row) for row in rows)


@pytest.fixture
def watch(driver, github, monkeypatch):
    """Return a list of what becomes, at each request from now on, of a write of repositories."""

    def begin():
        find, met = github.objects.get, []

        def get(path):
            try:
                with driver.session() as other, other.begin_transaction(timeout=2) as transaction:
                    transaction.run("MATCH (r:Repository) SET r.seen = true").consume()
                met.append("written")
            except Neo4jError as error:
                met.append(f"{path}: {error.code}")
            return find(path)

        monkeypatch.setattr(github.objects, "get", get)
        return met

    return begin


@pytest.mark.parametrize("query", [ALL_ISSUES, ALL_PULL_REQUESTS], ids=["issues", "pulls"])
def test_no_lock_is_held_while_github_is_asked(ask, world, watch, query):
    """Whenever GitHub is asked, another transaction may write the repository at once."""
    world.repository()
    for number in (1, 2, 3):
        world.issue(number)
        world.pull_request(number + 3, f"Fixes #{number}")
    where = {"owner": "ann", "repo": world.name}
    ask("CALL github.mergeRepository($owner, $repo) YIELD node RETURN node.id", where)
    met = watch()

    found = ask(query, where)

    assert found in ([(3,)], [(4, 1), (5, 1), (6, 1)], [(6, 1), (5, 1), (4, 1)])
    # The list has the issues; each pull request is asked for.
    assert len(met) >= (1 if query is ALL_ISSUES else 4)
    assert set(met) == {"written"}
