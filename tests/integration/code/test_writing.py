"""How a repository is written: by one indexing at a time, and whole in the end."""

import asyncio
import json
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from textwrap import dedent

import pytest
from fix_waiting import awaited, wait_until
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from neo4j.exceptions import ClientError

from sidecypher_procedures.code.errors import InvalidId, RepositoryBusy
from sidecypher_procedures.code.indexing import index_here
from sidecypher_procedures.code.model import PHASES
from sidecypher_procedures.code.options import IndexOptions

QUICK = IndexOptions(resolve=False)
BLOCKED = "SHOW TRANSACTIONS YIELD status WHERE status STARTS WITH 'Blocked' RETURN status"
# What names other things, so that an edit changes resolution elsewhere.
TEXTS = (
    "def price():\n    return 1\n",
    "from a import price\n\n\ndef total():\n    return price()\n",
    "import a, b\n\n\nclass Cart:\n    def add(self):\n        b.total()\n        a.price()\n",
    "from c import Cart\n\nCart().add()\n",
    "class Base:\n    def add(self):\n        pass\n\n\nclass Cart(Base):\n    pass\n",
    "def broken(:\n",
    "",
)
FOLDERS = ("a.py", "b.py", "c.py", "inner/a.py", "inner/b.py")
EDITS = st.lists(st.tuples(st.sampled_from(FOLDERS), st.sampled_from([*TEXTS, None])), max_size=5)
GRAPH = """
    MATCH (n:Entity|Chunk {repo_id: $id})
    OPTIONAL MATCH (n)-[r]->(m)
    WITH n, r, m ORDER BY n.id, type(r), m.id
    RETURN properties(n) AS node, collect([type(r), m.id, properties(r)]) AS links
"""
# Their numbers are kept from before, so they may differ.
COMMUNITIES = """
    MATCH (c:Community {repo_id: $id})
    RETURN c.label AS label, c.size AS size, c.algorithm AS algorithm,
        COLLECT { MATCH (e)-[:IN_COMMUNITY]->(c) RETURN e.id AS id ORDER BY id } AS members
    ORDER BY members
"""


def graph(session, repository):
    """Return all that Neo4j has of a repository, in a fixed order."""
    return [session.run(query, id=repository.id).data() for query in (GRAPH, COMMUNITIES)]


def put(repository, files):
    """Write files; those without a text are deleted."""
    for path, text in files:
        file = repository.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            file.unlink(missing_ok=True)
        else:
            file.write_text(dedent(text))


class Breaking:
    """Runs statements one by one in transactions of their own, until it breaks.

    Attributes:
        left: How many statements that write are run before one fails.
        is_away: Whether nothing works after that, as if Neo4j had gone.
    """

    def __init__(self, session, left, *, is_away):
        self.session = session
        self.left = left
        self.is_away = is_away

    async def __call__(self, statement, **parameters):
        if "writer" in parameters:
            self.left -= 1
        if self.left == 0 or (self.left < 0 and self.is_away):
            raise ConnectionError
        return self.session.run(statement, parameters).data()


async def index_until_it_breaks(repository, session, left, *, is_away=False):
    run = Breaking(session, left, is_away=is_away)
    try:
        await index_here(repository.id, repository.folder, run, lambda *_: None, QUICK)
    except ConnectionError:
        return False
    return True


@pytest.mark.slow
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=EDITS, second=EDITS)
def test_an_edited_graph_is_that_of_a_first_indexing(repository, session, first, second):
    """After any edits, deletions and moves, the graph is the one that a first indexing makes."""
    edited = repository()
    put(edited, first)
    edited.index(resolve=False)
    put(edited, second)
    edited.index(resolve=False)
    found = graph(session, edited)

    edited.call("drop")
    edited.index(resolve=False)

    assert graph(session, edited) == found


@pytest.mark.slow
@awaited
async def test_an_indexing_that_breaks_off_is_mended_by_the_next(repository, session):
    """Whichever statement fails, the next indexing makes the whole graph."""
    shop = repository()
    put(shop, zip(FOLDERS, TEXTS, strict=False))
    shop.index(resolve=False)
    whole = graph(session, shop)
    broken = 0
    while True:
        shop.call("drop")
        if await index_until_it_breaks(shop, session, broken + 1):
            break
        broken += 1
        shop.index(resolve=False)
        assert graph(session, shop) == whole

    assert broken > len(PHASES)


@pytest.mark.slow
@awaited
async def test_an_indexing_that_is_lost_keeps_others_out_for_a_while(repository, session, code):
    """If Neo4j goes away within an indexing, the next one is refused until the lease is over."""
    shop = repository()
    put(shop, zip(FOLDERS, TEXTS, strict=False))
    await index_until_it_breaks(shop, session, 5, is_away=True)

    [row] = [row for row in code.call("list") if row["repoId"] == shop.id]
    with pytest.raises(ClientError, match=r"SC-993.*Call again"):
        shop.index()
    found = shop.call("search", "price", {})
    session.run("MATCH (r:Repo {repo_id: $id}) SET r.lease_until = datetime.realtime()", id=shop.id)
    shop.index()

    assert row["status"] == "writing"
    assert "an indexing writes the repository: parts may be missing" in found[0]["notices"]
    assert {row["status"] for row in code.call("list") if row["repoId"] == shop.id} == {"ready"}


@pytest.mark.slow
def test_of_two_indexings_at_once_one_is_refused(repository, session, driver):
    """Two indexings of one repository write it once; the later one is told to call again."""
    shop = repository()
    put(shop, zip(FOLDERS, TEXTS, strict=False))

    def index_in_vain():
        with pytest.raises(ClientError, match="SC-993"):
            shop.index()

    with ThreadPoolExecutor(1) as threads, driver.session() as other:
        tx = other.begin_transaction()
        tx.run("CALL code.index($id, $path, {})", id=shop.id, path=str(shop.folder)).consume()
        later = threads.submit(index_in_vain)
        with driver.session() as watching:
            wait_until(lambda: watching.run(BLOCKED).data() or later.done())
        tx.commit()
        later.result()

    assert shop.index()["written"] == 0


@pytest.mark.slow
@awaited
async def test_an_indexing_that_lost_its_repository_writes_no_more(repository, session):
    """After its lease another indexing may take over; what the first still sends has no effect."""
    shop = repository()
    put(shop, zip(FOLDERS, TEXTS, strict=False))
    takes_over = [False]

    async def run(statement, **parameters):
        if "rows" in parameters and not takes_over[0]:
            takes_over[0] = True
            session.run("MATCH (r:Repo {repo_id: $id}) SET r.lease_until = datetime()", id=shop.id)
            await asyncio.to_thread(shop.index, resolve=False)
        return session.run(statement, parameters).data()

    with pytest.raises(RepositoryBusy):
        await index_here(shop.id, shop.folder, run, lambda *_: None, QUICK)

    again = shop.index_anew(resolve=False)
    assert (again["written"], again["removed"]) == (0, 0)


@pytest.mark.slow
def test_a_dropped_repository_leaves_nothing(repository, session):
    """`code.drop` deletes all that a repository has, and nothing of another one."""
    shop, other = repository(), repository()
    for each in (shop, other):
        put(each, zip(FOLDERS, TEXTS, strict=False))
        each.index(resolve=False)
    kept = graph(session, other)

    [dropped] = shop.call("drop")

    left = session.run("MATCH (n {repo_id: $id}) RETURN count(n)", id=shop.id).single().value()
    assert (dropped["entities"] > 0, dropped["chunks"] > 0, left) == (True, True, 0)
    assert graph(session, other) == kept


@awaited
async def test_a_repository_that_is_being_written_is_not_dropped(repository, session):
    """`code.drop` is refused while an indexing writes, and completes one that was broken off."""
    shop = repository()
    put(shop, zip(FOLDERS, TEXTS, strict=False))
    await index_until_it_breaks(shop, session, 5, is_away=True)

    with pytest.raises(ClientError, match="SC-993"):
        shop.call("drop")
    session.run("MATCH (r:Repo {repo_id: $id}) SET r.lease_until = datetime.realtime()", id=shop.id)
    shop.call("drop")

    assert session.run(GRAPH, id=shop.id).data() == []


@pytest.mark.slow
@awaited
async def test_an_indexing_tells_how_far_it_has_come(repository, session):
    """Each phase is told in order, and at the end all rows are written."""
    shop = repository()
    put(shop, zip(FOLDERS, TEXTS, strict=False))
    told = []

    async def run(statement, **parameters):
        return session.run(statement, parameters).data()

    await index_here(shop.id, shop.folder, run, lambda *each: told.append(each))

    assert {phase for phase, _, _ in told} == set(PHASES)
    assert ("read", len(FOLDERS), len(FOLDERS)) in told
    assert told[-1][:1] == ("write",)
    assert told[-1][1] == told[-1][2] > 0


@awaited
async def test_an_id_is_checked_before_files_are_read(repository):
    """The command refuses an empty id, too."""
    with pytest.raises(InvalidId):
        await index_here("", repository().folder, None, lambda *_: None)


@pytest.mark.slow
def test_a_saved_file_is_indexed_again(server, session, repository):
    """`code index --watch` indexes after each save, and ends with Ctrl-C."""
    shop = repository()
    put(shop, [("a.py", TEXTS[0])])
    command = ["code", "index", shop.folder, "--watch", "--json"]
    with subprocess.Popen(
        [sys.executable, "-m", "sidecypher", *command],
        env=server.environ,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        first = read_document(process.stdout)
        put(shop, [("b.py", TEXTS[1])])
        second = read_document(process.stdout)
        process.send_signal(signal.SIGINT)

    assert (first["files"], second["files"]) == (1, 2)
    assert process.returncode == 0


def read_document(lines):
    """Read a JSON document that ends with a brace on its own line."""
    text = ""
    for line in lines:
        text += line
        if line == "}\n":
            return json.loads(text)
    raise AssertionError("The output ended within a document")
