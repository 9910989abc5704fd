"""What a run is based on, who began it and what came of it, on a real Neo4j."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from neo4j.exceptions import ClientError

from sidecypher_procedures.runs import attachments

HELLO = {"owner": "Codertocat", "repo": "Hello-World"}
ISSUE, REPOSITORY = "444500041", "186853002"
SHA = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def things(session):
    """One node of each kind that a run can be attached to."""
    session.run(
        "CREATE (i:Issue {id: 'i'})-[:BELONGS_TO]->(:Repository {id: 'home'}), "
        "(:Repository {id: 'r'}), (:Commit {sha: 'c'}), (:PullRequest {id: 'p'}), (:User {id: 'u'})"
    ).consume()


@pytest.fixture
def ties(session):
    """All relationships of a run to what is not an event, as (from, type, to)."""

    def found(run):
        query = """
            MATCH (r:WorkflowRun {id: $run})-[l]-(t)
            WITH l, startNode(l) AS a, endNode(l) AS b
            RETURN coalesce(a.id, a.sha), type(l), coalesce(b.id, b.sha)
        """
        return sorted(map(tuple, session.run(query, run=run).values()))

    return found


ISSUE_TIES = [
    ("i", "HAS_RUNS", "run"),
    ("run", "BASED_ON", "home"),
    ("run", "BASED_ON", "i"),
    ("run", "BASED_ON_ISSUE", "i"),
    ("run", "BASED_ON_REPOSITORY", "home"),
]
OF_KIND = [
    ("Issue", "i", ISSUE_TIES),
    ("Repository", "r", [("run", "BASED_ON", "r"), ("run", "BASED_ON_REPOSITORY", "r")]),
    ("Commit", "c", [("run", "BASED_ON", "c"), ("run", "BASED_ON_COMMIT", "c")]),
    ("PullRequest", "p", [("p", "GENERATED_BY", "run")]),
    ("Actor", "u", [("run", "INITIATED_BY", "u")]),
]


@pytest.mark.usefixtures("things")
@pytest.mark.parametrize(("kind", "target", "expected"), OF_KIND)
def test_a_run_is_attached_once(runs, ties, kind, target, expected):
    """A node by its id; done again it changes nothing, and says so."""
    run = runs.new(id="run")

    first, again = (runs.one(f"attach{kind}", run, target) for _ in range(2))

    assert first == {"runId": "run", "id": target, "attached": True}
    assert again == {"runId": "run", "id": target, "attached": False}
    assert ties(run) == expected


@pytest.mark.usefixtures("things")
def test_a_sha_is_found_in_capitals_too(runs):
    """Git writes it in either case."""
    assert runs.one("attachCommit", runs.new(), "C")["id"] == "c"


@pytest.mark.usefixtures("things")
def test_a_run_is_created_with_what_it_is_based_on(runs, session, ties):
    """All at once; created again it is as it was, whatever is given then."""
    session.run("CREATE (:GithubWebhookEvent {id: 'd'})").consume()
    options = {"id": "run", "initiatedBy": "u", "triggeredBy": "d"}
    runs.new(**options, basedOn={"issue": "i", "repository": "r", "commit": "c"})
    expected = sorted(
        {
            *ISSUE_TIES,
            *(tie for kind, _, told in OF_KIND[1:3] for tie in told),
            ("run", "INITIATED_BY", "u"),
            ("run", "TRIGGERED_BY", "d"),
        }
    )

    assert ties("run") == expected
    runs.new(**options | {"initiatedBy": "other"}, basedOn={"issue": "none"})
    assert ties("run") == expected


@pytest.mark.usefixtures("things")
def test_an_issue_and_its_repository_are_one_basis(runs, ties):
    """The repository of an issue may be named beside it: it is there once."""
    runs.new(id="run", basedOn={"issue": "i", "repository": "home", "commit": None})

    assert ties("run") == ISSUE_TIES


def test_what_is_missing_of_a_tie_is_added(runs, session, ties):
    """A run that other programs have tied to an issue by one relationship gets the others."""
    runs.new(id="run")
    session.run("MATCH (r:WorkflowRun) CREATE (r)-[:BASED_ON_ISSUE]->(:Issue {id: 'i'})").consume()

    assert runs.one("attachIssue", "run", "i")["attached"] is True
    assert ties("run") == [
        ("i", "HAS_RUNS", "run"),
        ("run", "BASED_ON", "i"),
        ("run", "BASED_ON_ISSUE", "i"),
    ]


def test_what_github_has_is_merged(runs, session, ties):
    """Issue, repository, commit and pull request by their names, as the merges write them."""
    issue = runs.one("create", "t", {"id": "run", "basedOn": {"issue": HELLO | {"number": 1}}})
    repository = {"owner": HELLO["owner"], "name": HELLO["repo"]}
    rows = [
        runs.one("attachIssue", "run", HELLO | {"number": 1}),
        runs.one("attachRepository", "run", repository),
        runs.one("attachCommit", "run", HELLO | {"sha": SHA.upper()}),
        runs.one("attachPullRequest", "run", HELLO | {"number": 2}),
    ]

    pull = session.run("MATCH (p:PullRequest) RETURN p.id").single(strict=True).value()
    assert issue["created"]
    assert [(row["id"], row["attached"]) for row in rows] == [
        (ISSUE, False),
        (REPOSITORY, False),
        (SHA, True),
        (pull, True),
    ]
    assert ties("run") == sorted(
        [
            (ISSUE, "HAS_RUNS", "run"),
            (pull, "GENERATED_BY", "run"),
            *(("run", "BASED_ON", each) for each in (ISSUE, REPOSITORY, SHA)),
            ("run", "BASED_ON_ISSUE", ISSUE),
            ("run", "BASED_ON_REPOSITORY", REPOSITORY),
            ("run", "BASED_ON_COMMIT", SHA),
        ]
    )
    found = session.run("MATCH (c:Commit)-[l:BELONGS_TO]->(r) RETURN c.sha, r.id, count(l)")
    assert found.values() == [[SHA, REPOSITORY, 1]]


NAMES = {"owner": "ann", "repo": "none", "name": "none", "number": 7, "sha": SHA}


def named(*keys, **others):
    return {key: NAMES[key] for key in keys} | others


@pytest.mark.parametrize(
    ("kind", "names", "shown"),
    [
        ("Issue", named("owner", "repo", "number"), "issue `ann/none#7`"),
        ("Repository", named("owner", "name"), "repository `ann/none`"),
        ("Commit", named("owner", "repo", "sha"), f"commit `ann/none@{SHA}`"),
        ("PullRequest", named("owner", "repo", "number"), "pull request `ann/none#7`"),
    ],
)
def test_what_github_does_not_have_is_refused(runs, session, kind, names, shown):
    """The error names it, and nothing was written, not even the run that was to be based on it."""
    runs.new(id="run")
    with pytest.raises(ClientError, match=f"SC-922.*GitHub has no {shown}"):
        runs.one(f"attach{kind}", "run", names)
    if kind != "PullRequest":
        with pytest.raises(ClientError, match="SC-922"):
            runs.new(id="other", basedOn={kind.lower(): names})

    assert session.run("MATCH (n) RETURN labels(n)").value() == [["WorkflowRun"]]


def test_a_pull_request_is_no_issue(runs, session, world):
    """GitHub gives pull requests as issues; no run is based on one."""
    world.repository()
    world.issue(1, pull_request={})
    runs.new(id="run")

    with pytest.raises(ClientError, match=r"SC-525.*is a pull request"):
        runs.one("attachIssue", "run", {"owner": "ann", "repo": world.name, "number": 1})
    assert session.run("MATCH (n) RETURN labels(n)").value() == [["WorkflowRun"]]


def test_a_run_has_one_initiator(runs, ties):
    """Another user than the one who began it is refused."""
    runs.new(id="run", initiatedBy="ann")

    with pytest.raises(ClientError, match=r"SC-923.*than `bob` has begun"):
        runs.one("attachActor", "run", "bob")
    assert runs.one("attachActor", "run", "ann")["attached"] is False
    assert ties("run") == [("run", "INITIATED_BY", "ann")]


@pytest.mark.parametrize(
    ("kind", "target", "error"),
    [
        ("Issue", "none", "SC-909.*no issue `none`.*owner, repo, number"),
        ("Repository", "none", "SC-909.*no repository `none`"),
        ("Commit", "none", "SC-909.*no commit `none`"),
        ("PullRequest", "none", "SC-909.*no pull request `none`"),
        ("Issue", None, "SC-215.*`issue` must not be null"),
        ("Issue", 7, "SC-204.*`issue`.*INTEGER where STRING or MAP"),
        ("Issue", " ", "SC-902.*id of the issue"),
        ("Issue", {}, "SC-204.*`issue.owner`.*missing"),
        ("Issue", named("owner", "repo"), "SC-204.*`issue.number`"),
        ("Issue", named("owner", "repo", "number", title="t"), "SC-204.*no field `title`"),
        ("Issue", named("owner", "repo", number="7"), "SC-204.*`issue.number`"),
        ("Issue", named("repo", "number", owner="a/b"), "SC-501"),
        ("Repository", named("owner", "repo"), "SC-204.*no field `repo`"),
        ("Commit", named("owner", "repo", sha="0123"), "SC-204.*`commit.sha`.*40 or 64"),
        ("PullRequest", named("owner", number=1), "SC-204.*`pullRequest.repo`.*missing"),
        ("Actor", " ", "SC-902.*id of the user"),
    ],
)
def test_what_cannot_be_attached_is_refused(runs, session, kind, target, error):
    """The error names the thing, and nothing was written."""
    runs.new(id="run")
    with pytest.raises(ClientError, match=f"(?s){error}"):
        runs.one(f"attach{kind}", "run", target)

    assert session.run("MATCH (n) RETURN labels(n)").value() == [["WorkflowRun"]]


@pytest.mark.parametrize(
    ("based_on", "error"),
    [
        ("text", "SC-204.*`options.basedOn`.*STRING where MAP"),
        ({"colour": "red"}, "SC-204.*`options.basedOn`.*no field `colour`"),
        ({"issue": "none"}, "SC-909.*no issue `none`"),
        ({"commit": ["c"]}, "SC-204.*`options.basedOn.commit`.*LIST where STRING or MAP"),
    ],
)
def test_a_basis_that_cannot_be_is_refused(runs, session, based_on, error):
    """The error names the thing, and no run is there."""
    with pytest.raises(ClientError, match=error):
        runs.new(basedOn=based_on)
    assert session.run("MATCH (n) RETURN n").data() == []


@pytest.mark.usefixtures("things")
@pytest.mark.parametrize(("kind", "target"), [tuple(row[:2]) for row in OF_KIND])
def test_only_a_run_can_be_attached(runs, session, kind, target):
    """A run that is not there is named, and nothing was written."""
    with pytest.raises(ClientError, match=r"SC-903.*run `none`"):
        runs.one(f"attach{kind}", "none", target)
    query = "MATCH ()-[l:!BELONGS_TO]->() RETURN count(l) AS n"
    assert session.run(query).single()["n"] == 0


@pytest.mark.usefixtures("things")
def test_parallel_writers_attach_once(runs, driver, session, ties):
    """Many that attach one run to the same things at a time leave each relationship once."""
    runs.new(id="run")

    def attach(number):
        kind, target, _ = OF_KIND[number % len(OF_KIND)]
        call = f"CALL runs.attach{kind}('run', $target) YIELD attached RETURN attached"
        return kind, driver.execute_query(call, target=target).records[0]["attached"]

    with ThreadPoolExecutor(8) as writers:
        found = list(writers.map(attach, range(40)))

    assert sorted(kind for kind, attached in found if attached) == sorted(k for k, *_ in OF_KIND)
    assert ties("run") == sorted({tie for *_, told in OF_KIND for tie in told} | {*ISSUE_TIES})


@pytest.mark.usefixtures("things")
def test_parallel_writers_create_one_run(driver, session, ties):
    """Many that create one run with what it is based on leave one, with each relationship once."""
    call = "CALL runs.create('t', {id: 'run', basedOn: {issue: 'i'}}) YIELD created RETURN created"

    with ThreadPoolExecutor(8) as writers:
        found = list(
            writers.map(lambda _: driver.execute_query(call).records[0]["created"], range(16))
        )

    assert sorted(found) == [False] * 15 + [True]
    assert ties("run") == ISSUE_TIES


def test_parallel_writers_make_one_commit(runs, driver, session, world):
    """Many runs that are attached to one commit by its names share a node."""
    world.repository()
    commit = {"owner": "ann", "repo": world.name, "sha": SHA}
    names = [runs.new(id=f"run{number}") for number in range(16)]
    call = "CALL runs.attachCommit($run, $commit) YIELD attached RETURN attached"

    with ThreadPoolExecutor(8) as writers:
        list(writers.map(lambda run: driver.execute_query(call, run=run, commit=commit), names))

    found = session.run(
        """
        MATCH (c:Commit)
        RETURN c.sha, COUNT { (c)-[:BELONGS_TO]->() }, COUNT { (c)<-[:BASED_ON_COMMIT]-() }
        """
    ).values()
    assert found == [[SHA, 1, 16]]


class SlowUses:
    """Counts the answers of GitHub, each of which waits until it may go."""

    def __init__(self, uses):
        self._uses = uses
        self.asked, self.released = threading.Event(), threading.Event()

    def __next__(self):
        self.asked.set()
        assert self.released.wait(60)
        return next(self._uses)


def test_nobody_who_appends_waits_for_github(runs, driver, github, world, monkeypatch):
    """GitHub is asked before the run is locked."""
    world.repository()
    world.issue(1)
    slow = SlowUses(github.uses)
    monkeypatch.setattr(github, "uses", slow)
    issue = {"owner": "ann", "repo": world.name, "number": 1}
    run = runs.new()

    with ThreadPoolExecutor(1) as other:
        call = "CALL runs.attachIssue($run, $issue) YIELD attached RETURN attached"
        attached = other.submit(driver.execute_query, call, run=run, issue=issue)
        try:
            assert slow.asked.wait(60)
            assert runs.append(run)["seq"] == 1
            assert not attached.done()
        finally:
            slow.released.set()
        assert attached.result().records[0]["attached"] is True


def test_an_attachment_belongs_to_the_callers_transaction(session, runs, things, ties):
    """It goes with a rollback."""
    runs.new(id="run")
    with session.begin_transaction() as transaction:
        transaction.run("CALL runs.attachIssue('run', 'i')").consume()
        transaction.rollback()

    assert ties("run") == []


@pytest.fixture
def hub(session):
    """A repository with 2 000 runs, one of which has 2 000 events."""
    session.run(
        """
        CREATE (t:Repository {id: 'hub'})
        WITH t UNWIND range(1, 2000) AS n
        CREATE (t)<-[:BASED_ON_REPOSITORY]-(r:WorkflowRun {id: 'r' + n})-[:BASED_ON]->(t)
        WITH n MATCH (r:WorkflowRun {id: 'r1'})
        CREATE (:Event {id: 'e' + n, runId: 'r1', seq: n})-[:PART_OF]->(r)
        """
    ).consume()


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize("run", ["r1", "new"])
def test_a_hub_costs_no_more(runs, session, run):
    """Neither the runs of a repository nor the events of the run are read."""
    runs.new(id="new")
    element = session.run("MATCH (t:Repository) RETURN elementId(t)").single().value()
    types = list(attachments.REPOSITORY.types)
    waiting = [
        session.run(
            f"PROFILE {attachments._ATTACH}",
            runId=run,
            nodes=[{"element": element, "types": types, "back": []}],
        )
        .consume()
        .profile
    ]
    hits = 0
    while waiting:
        plan = waiting.pop()
        hits += plan["args"]["DbHits"]
        waiting += plan.get("children", ())

    assert hits < 100


@pytest.mark.usefixtures("hub")
def test_writers_do_not_wait_for_each_other_at_a_hub(runs, driver, session):
    """A run is attached to a repository while another transaction has attached one and is open."""
    for run in ("one", "other"):
        runs.new(id=run)
    with session.begin_transaction() as transaction:
        transaction.run("CALL runs.attachRepository('one', 'hub')").consume()
        done = driver.execute_query(
            "CALL runs.attachRepository('other', 'hub') YIELD attached RETURN attached"
        )
        assert done.records[0]["attached"] is True
