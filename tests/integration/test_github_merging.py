"""What of GitHub is merged into a real Neo4j, by one and by many at a time."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from fix_github import ANN, BOB
from neo4j.exceptions import ClientError

from sidecypher_procedures.github import store
from sidecypher_schema import split

WRITERS = 32
CREATED = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
HELLO = {"owner": "Codertocat", "repo": "Hello-World"}


def everything(session):
    """The whole graph: its nodes and its relationships, each as often as it is there."""
    nodes = session.run("MATCH (n) RETURN labels(n)[0], coalesce(n.id, '')").values()
    edges = session.run("MATCH (a)-[r]->(b) RETURN a.id, type(r), b.id").values()
    return sorted(map(tuple, nodes)), sorted(map(tuple, edges))


@pytest.fixture
def merge(session, world):
    """Merge something of the world's repository, or of another; the rows."""

    def rows(what, *arguments, name=None, **options):
        signs = ", ".join(f"$a{index}" for index in range(len(arguments)))
        call = f"CALL github.merge{what}('ann', $name, {signs}{', ' if signs else ''}$options)"
        given = {f"a{index}": value for index, value in enumerate(arguments)}
        return session.run(call, name=name or world.name, options=options, **given).data()

    return rows


def test_an_issue_is_merged_with_all_around_it(session):
    """The node has what never changes and nothing else, and its relationships are there."""
    call = "CALL github.mergeIssue($owner, $repo, 1, {comments: true}) YIELD node RETURN node"
    node = session.run(call, HELLO).single()["node"]

    created = datetime.fromisoformat("2019-05-15T15:20:18Z")
    assert node.labels == {"Issue"}
    assert {**node, "createdAt": node["createdAt"].to_native()} == {
        "id": "444500041",
        "repositoryId": "186853002",
        "number": 1,
        "createdAt": created,
    }
    repository = session.run("MATCH (r:Repository) RETURN properties(r) AS r").single()["r"]
    assert repository.pop("createdAt").to_native().year == 2019
    assert repository.pop("eventAt").iso_format() == "2019-05-15T15:21:14.000000000+00:00"
    assert repository == {
        "id": "186853002",
        "owner": "Codertocat",
        "name": "Hello-World",
        "fullNameKey": "codertocat/hello-world",
    }
    [user] = session.run("MATCH (u:User) RETURN properties(u) AS u").value()
    assert datetime.now(UTC) - user.pop("eventAt").to_native() < timedelta(hours=1)
    assert user == {"id": "21031067", "login": "Codertocat"}
    assert everything(session)[1] == [
        ("186853002", "HAS_ISSUES", "444500041"),
        ("186853002", "OWNED_BY", "21031067"),
        ("444500041", "BELONGS_TO", "186853002"),
        ("444500041", "CREATED_BY", "21031067"),
        ("444500041", "HAS_COMMENTS", "492700400"),
    ]


def test_a_pull_request_is_merged_with_what_it_resolves(session, world, merge):
    """It resolves the issues of its repository that it says it closes: they are merged too."""
    repository, issue = world.repository(), world.issue(1, user=BOB)
    world.issue(3, pull_request={})
    world.issue(4, repository_url="https://api.github.com/repos/else/where")
    pull = world.pull_request(2, "Fixes #1, closes #3, resolves #4, fixes #99. See #5.")

    [row] = merge("PullRequest", 2)

    assert (row["node"]["id"], row["node"]["number"], row["error"]) == (pull, 2, None)
    assert set(row["node"]) == {"id", "number", "repositoryId", "createdAt"}
    assert everything(session)[1] == sorted(
        [
            (repository, "OWNED_BY", "11"),
            (repository, "HAS_ISSUES", issue),
            (repository, "HAS_PRS", pull),
            (issue, "BELONGS_TO", repository),
            (issue, "CREATED_BY", "12"),
            (pull, "BELONGS_TO", repository),
            (pull, "CREATED_BY", "11"),
            (pull, "RESOLVES", issue),
        ]
    )


def test_a_pull_request_into_another_branch_resolves_nothing(session, world, merge):
    """GitHub closes issues only when a pull request is merged into the default branch."""
    world.repository()
    world.issue(1)
    world.pull_request(2, "Fixes #1", base="next")

    merge("PullRequest", 2)

    assert session.run("MATCH ()-[r:RESOLVES]->() RETURN count(r) AS n").single()["n"] == 0


def test_parallel_merges_of_one_issue_make_one_node(session, driver, world):
    """However many merge one issue at a time, each node and each relationship is there once."""
    repository, issue = world.repository(owner=ANN), world.issue(1, user=BOB)
    comments = [world.comment(1, id_) for id_ in (1, 2, 3)]

    call = "CALL github.mergeIssue($owner, $repo, 1, {comments: true})"
    run_at_once(driver, [(call, world.name)] * WRITERS)

    assert everything(session) == (
        sorted(
            [
                ("Repository", repository),
                ("User", "11"),
                ("User", "12"),
                ("Issue", issue),
                *(("Comment", comment) for comment in comments),
            ]
        ),
        sorted(
            [
                (repository, "OWNED_BY", "11"),
                (repository, "HAS_ISSUES", issue),
                (issue, "BELONGS_TO", repository),
                (issue, "CREATED_BY", "12"),
                *((issue, "HAS_COMMENTS", comment) for comment in comments),
            ]
        ),
    )


def test_parallel_merges_of_different_things_leave_nothing_out(session, driver, world):
    """Issues and pull requests of one repository, by two people, merged in any order at once."""
    world.repository()
    numbers = range(1, 9)
    for number in numbers:
        world.issue(number, user=BOB if number % 2 else ANN)
        world.pull_request(100 + number, f"Fixes #{number}, fixes #{9 - number}", user=BOB)
    issues = [f"CALL github.mergeIssue($owner, $repo, {n})" for n in numbers]
    pulls = [f"CALL github.mergePullRequest($owner, $repo, {100 + n})" for n in numbers]

    calls = [*issues, *pulls, *reversed(issues), *reversed(pulls)]
    run_at_once(driver, [(call, world.name) for call in calls])

    nodes, edges = everything(session)
    assert [label for label, _ in nodes].count("Issue") == 8
    assert len(nodes) == len(set(nodes)) == 1 + 2 + 8 + 8
    assert len(edges) == len(set(edges)) == 1 + 8 * 3 + 8 * 3 + 16


def test_transactions_with_many_merges_wait_for_each_other(session, driver, world):
    """Opposite orders within transactions do no harm: the repository is locked first by all."""
    world.repository()
    for number in range(1, 9):
        world.issue(number, user=BOB if number % 2 else ANN)
    forth, back = ("range(1, 8)", "range(8, 1, -1)")
    call = "UNWIND {} AS n CALL github.mergeIssue($owner, $repo, n) YIELD node RETURN count(*)"

    run_at_once(driver, [(call.format(order), world.name) for order in (forth, back) * 8])

    assert len(everything(session)[0]) == 1 + 2 + 8


def run_at_once(driver, calls):
    """Run each call in a transaction of its own, all at the same time, none of them twice."""

    def run(call):
        text, name = call
        with driver.session() as session:
            session.run(text, owner="ann", repo=name).consume()

    with ThreadPoolExecutor(len(calls)) as pool:
        list(pool.map(run, calls))


def test_a_second_merge_changes_nothing(session, world, merge):
    """What is there already is found, and what a user has set beside it stays."""
    world.repository()
    world.issue(1)
    merge("Issue", 1)
    before = everything(session)
    session.run("MATCH (i:Issue) SET i.mine = 1").consume()

    [row] = merge("Issue", 1)

    assert row["node"]["mine"] == 1
    assert everything(session) == before


def test_nodes_made_by_hand_are_completed(session, world, merge):
    """A node of that id is the one, whatever it lacks, and an owner without an id is replaced."""
    repository, issue = world.repository(), world.issue(1)
    session.run(
        "CREATE (r:Repository {id: $r, owner: 'ann', name: $name})-[:OWNED_BY]->"
        "(:User {login: 'ann'}) CREATE (:Issue {id: $i})-[:BELONGS_TO]->(r)",
        r=repository,
        i=issue,
        name=world.name,
    ).consume()

    [row] = merge("Issue", 1)

    assert (row["node"]["repositoryId"], row["node"]["number"]) == (repository, 1)
    assert [edge for edge in everything(session)[1] if "OWNED_BY" in edge] == [
        (repository, "OWNED_BY", "11")
    ]


GRAPH = Path(__file__).parents[1] / "data" / "github" / "graph.cypher"


def test_a_merge_adds_nothing_to_what_cypher_wrote(session):
    """A graph of identities in plain Cypher is what a merge would make of them."""
    for statement in split(GRAPH.read_text("utf-8")).statements:
        session.run(statement.text).consume()
    before = everything(session), properties(session)

    session.run("CALL github.mergeIssue($owner, $repo, 1)", HELLO).consume()
    session.run("CALL github.mergePullRequest($owner, $repo, 2)", HELLO).consume()

    assert (everything(session), properties(session)) == before


def properties(session):
    """All properties of each node, but since when a user is known to have his login."""
    return session.run(
        "MATCH (n) RETURN CASE WHEN n:User THEN n {.*, eventAt: null} ELSE n {.*} END AS found "
        "ORDER BY elementId(n)"
    ).value()


@pytest.mark.parametrize("has_key", [True, False])
def test_a_name_moves_from_its_old_holder(session, world, merge, has_key):
    """A repository that gets the name of another takes it away, in any case of letters."""
    name = f"ann/{world.name}"
    session.run(
        "CREATE (r:Repository {id: '1', owner: 'ann', name: $name}) SET r.fullNameKey = $key",
        name=world.name.upper() if has_key else world.name,
        key=name if has_key else None,
    ).consume()
    repository = world.repository()

    merge("Repository")

    found = session.run("MATCH (r:Repository) RETURN r.id, r.owner, r.name, r.fullNameKey").values()
    assert sorted(found) == [["1", None, None, None], [repository, "ann", world.name, name]]


def test_a_renamed_repository_keeps_its_node(session, world, merge):
    """Its id is the same, so that its node gets the new name, and a new owner is its only one."""
    repository = world.repository()
    merge("Repository")
    world.repository(f"{world.name}-new", id_=int(repository))
    session.run("MATCH (r:Repository)-[o:OWNED_BY]->() DELETE o CREATE (r)-[:OWNED_BY]->(:User)")

    merge("Repository", name=f"{world.name}-new")

    assert session.run("MATCH (r:Repository) RETURN r.id, r.name").values() == [
        [repository, f"{world.name}-new"]
    ]
    assert everything(session)[1] == [(repository, "OWNED_BY", "11")]


def test_a_login_moves_from_its_old_holder(session, world, merge):
    """A login that GitHub has given to another user is taken away; a user of ours keeps it."""
    world.repository()
    session.run("CREATE (:User {id: '5', login: 'ann'}), (:User {id: 'ann', login: 'ann'})")

    merge("Repository")

    found = session.run("MATCH (u:User) RETURN u.id, u.login").values()
    assert sorted(found) == [["11", "ann"], ["5", None], ["ann", "ann"]]


def names(session):
    """Which repository of the graph has which name, and since when."""
    return sorted(
        session.run(
            "MATCH (r:Repository) RETURN r.id, r.name, r.fullNameKey, toString(r.eventAt)"
        ).values()
    )


def test_an_older_answer_does_not_bring_back_a_name(session, world, merge):
    """What is in memory by the old name is merged without it, and owns nothing by it."""
    repository = world.repository()
    merge("Repository")
    new = f"{world.name}-new"
    world.repository(new, owner=BOB, id_=int(repository), updated_at="2026-01-03T00:00:00Z")
    session.run("CALL github.mergeRepository('bob', $name)", name=new).consume()

    merge("Repository")

    assert names(session) == [[repository, new, f"bob/{new}", "2026-01-03T00:00:00Z"]]
    assert everything(session)[1] == [(repository, "OWNED_BY", "12")]


def test_an_older_answer_takes_no_name_from_another(session, world, merge):
    """Whoever had a name before another got it does not get it back by being merged late."""
    key = f"ann/{world.name}"
    session.run(
        "CREATE (:Repository {id: '1', owner: 'ann', name: $name, fullNameKey: $key, "
        "eventAt: datetime('2026-01-03T00:00:00Z')})",
        name=world.name,
        key=key,
    ).consume()
    repository, issue = world.repository(), world.issue(1)

    merge("Issue", 1)

    assert names(session) == [
        ["1", world.name, key, "2026-01-03T00:00:00Z"],
        [repository, None, None, None],
    ]
    assert (issue, "BELONGS_TO", repository) in everything(session)[1]


def test_what_has_no_time_replaces_only_what_has_none(session, world, merge):
    """A repository of unknown age gets a name that nobody has, and takes none that has a time."""
    repository = world.repository(updated_at=None)
    merge("Repository")
    assert names(session) == [[repository, world.name, f"ann/{world.name}", None]]

    set_event = "MATCH (r:Repository) SET r.name = 'other', r.eventAt = datetime($at)"
    session.run(set_event, at="2026-01-01T00:00:00Z").consume()
    merge("Repository")

    assert names(session)[0][1] == "other"


def test_an_older_answer_does_not_bring_back_a_login(session, world, merge):
    """A user who was renamed after an answer was fetched keeps the new login, and so its holder."""
    world.repository()
    world.issue(1, user=BOB)
    session.run(
        "UNWIND [['11', 'anna'], ['5', 'bob']] AS known "
        "CREATE (:User {id: known[0], login: known[1], eventAt: datetime() + duration('P1D')})"
    ).consume()

    merge("Issue", 1)

    found = session.run("MATCH (u:User) RETURN u.id, u.login").values()
    assert sorted(found) == [["11", "anna"], ["12", None], ["5", "bob"]]


def test_a_later_answer_brings_a_login(session, world, merge):
    """A user who has been renamed on GitHub gets the new login, and its holder loses it."""
    world.repository()
    session.run(
        "UNWIND [['11', 'anna'], ['5', 'ann']] AS known "
        "CREATE (:User {id: known[0], login: known[1], eventAt: datetime() - duration('P1D')})"
    ).consume()

    merge("Repository")

    found = session.run("MATCH (u:User) RETURN u.id, u.login").values()
    assert sorted(found) == [["11", "ann"], ["5", None]]


def test_a_transferred_issue_belongs_to_where_it_is_now(session, world, merge):
    """GitHub answers an old address with the issue's new repository."""
    world.repository()
    now = world.repository(f"{world.name}-now")
    url = f"https://api.github.com/repos/ann/{world.name}-now"
    issue = world.issue(1, repository_url=url)

    [row] = merge("Issue", 1)

    assert row["node"]["repositoryId"] == now
    assert (issue, "BELONGS_TO", now) in everything(session)[1]


def test_a_deleted_user_made_nothing(session, world, merge):
    """An issue without an author has no CREATED_BY."""
    world.repository()
    world.issue(1, user=None)

    merge("Issue", 1)

    assert session.run("MATCH ()-[r:CREATED_BY]->() RETURN count(r) AS n").single()["n"] == 0


@pytest.mark.parametrize("what", ["Issue", "PullRequest"])
def test_what_is_missing_is_not_merged(session, world, merge, what):
    """A 404 is an error, or no row with onError 'skip', and writes nothing."""
    world.repository()

    with pytest.raises(ClientError, match=r"SC-503.*GitHub knows no"):
        merge(what, 7)
    assert merge(what, 7, onError="skip") == []
    assert everything(session) == ([], [])


def test_a_missing_thing_can_be_a_row_with_its_error(session, world, merge):
    """With onError 'null' there is a row, and still nothing in the graph."""
    [row] = merge("Repository", onError="null")

    assert (row["node"], row["error"]["code"]) == (None, "SC-503")
    assert everything(session) == ([], [])


def test_a_pull_request_is_no_issue(session, world, merge):
    """GitHub gives pull requests as issues; none of them gets a node of an issue."""
    world.repository()
    world.issue(1, pull_request={})

    with pytest.raises(ClientError, match=r"SC-525.*github\.mergePullRequest"):
        merge("Issue", 1)
    assert merge("Issue", 1, onError="skip") == []
    assert merge("Issue", 1, onError="null")[0]["error"]["code"] == "SC-525"
    assert everything(session) == ([], [])


def test_a_merge_belongs_to_the_callers_transaction(session, world):
    """What is merged is seen by the rest of the transaction, and goes with its rollback."""
    world.repository()
    with session.begin_transaction() as transaction:
        call = "CALL github.mergeRepository('ann', $name) YIELD node RETURN node"
        transaction.run(call, name=world.name).consume()
        assert transaction.run("MATCH (r:Repository) RETURN r.name").value() == [world.name]
        transaction.rollback()

    assert everything(session) == ([], [])


PARAMETERS = {
    "id": "7",
    "owner": "o7",
    "name": "r7",
    "fullNameKey": "o7/r7",
    "createdAt": CREATED,
    "ownerId": "7",
    "at": CREATED,
    "users": [{"id": "7", "login": "u8", "at": CREATED}],
    "comments": [{"id": "7", "createdAt": CREATED}],
    "resolved": [{"pullId": "7", "issueId": "7"}],
    "things": [
        {"id": "7", "repositoryId": "8", "number": 7, "createdAt": CREATED, "authorId": "7"}
    ],
}


@pytest.fixture(scope="module")
def filled(driver):
    """A session on a graph with 2 000 nodes of each label."""
    with driver.session() as session:
        session.run("MATCH (n) DETACH DELETE n").consume()
        session.run(
            """
            UNWIND range(1, 2000) AS n
            WITH n, toString(n) AS id
            CREATE (:Repository {id: id, owner: 'o' + id, name: 'r' + id, fullNameKey: 'o/' + id})
            CREATE (:Issue {id: id, repositoryId: id, number: n})
            CREATE (:PullRequest {id: id, repositoryId: id, number: n})
            CREATE (:User {id: id, login: 'u' + id}), (:Comment {id: id})
            """
        ).consume()
        session.run("CALL db.prepareForReplanning()").consume()
        yield session
        session.run("MATCH (n) DETACH DELETE n").consume()


@pytest.mark.parametrize(
    "name",
    [name for name, value in vars(store).items() if isinstance(value, str) and "MERGE" in value],
)
def test_no_statement_scans(filled, name):
    """Each statement of a merge finds all it needs by indexes."""
    with filled.begin_transaction() as transaction:
        query = f"PROFILE {getattr(store, name)}"
        waiting, operators = [transaction.run(query, PARAMETERS).consume().profile], []
        transaction.rollback()
    while waiting:
        plan = waiting.pop()
        operators.append(plan["operatorType"].partition("@")[0])
        waiting += plan.get("children", ())

    assert [each for each in operators if each.endswith("Scan")] == []
    assert [each for each in operators if "IndexSeek" in each]
