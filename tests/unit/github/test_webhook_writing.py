"""Writing what is stored, with a stand-in for Neo4j that does what a test wants."""

import contextlib
import sqlite3

import pytest
from fix_deliveries import Context, Graph, until
from fix_waiting import awaited

from sidecypher import CypherError, Neo4jUnavailable
from sidecypher_procedures.github.errors import WebhooksUnstored
from sidecypher_procedures.github.webhooks import spool
from sidecypher_procedures.github.webhooks import writing as module
from sidecypher_procedures.github.webhooks.writing import write_all

AWAY = Neo4jUnavailable("Neo4j cannot be reached", retryable=True)
AGAIN = Neo4jUnavailable(
    "Neo4j asks to try again", retryable=True, details={"neo4jCode": "Neo.TransientError.x"}
)
UNUSABLE = Neo4jUnavailable("`neo4j_uri` cannot be used")
FAILED = CypherError("[runs.x] no", neo4j_code="Neo.ClientError.Procedure.ProcedureCallFailed")
NO_SIDECAR = CypherError(
    "[SC-210] no sidecar", neo4j_code="Neo.ClientError.Procedure.ProcedureCallFailed"
)
NOT_INSTALLED = CypherError("no plugin", neo4j_code="Neo.ClientError.Procedure.ProcedureNotFound")
FORBIDDEN = CypherError("no right", neo4j_code="Neo.ClientError.Security.Forbidden")
ENDED = CypherError("[SC-207] it stops", neo4j_code="Neo.ClientError.Procedure.ProcedureCallFailed")
QUOTED = CypherError(
    "Node(1) already exists with `title` = '[SC-210]'",
    neo4j_code="Neo.ClientError.Schema.ConstraintValidationFailed",
)
TOO_LATE = CypherError(
    "The transaction has been terminated",
    neo4j_code="Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration",
)


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch):
    for name in ("_SHORTEST_PAUSE", "POLL_SECONDS"):
        monkeypatch.setattr(module, name, 0.001)


@awaited
async def test_deliveries_are_written_in_order(tmp_path):
    """One after the other, as they came, and nothing of them stays in the file."""
    graph = Graph()
    context = Context(tmp_path, graph)

    await context.put("abc")
    await context.written()

    assert graph.written == ["a", "b", "c"]


@awaited
async def test_it_goes_on_after_it_was_empty(tmp_path):
    """What comes later is written too."""
    graph = Graph()
    context = Context(tmp_path, graph)

    async with context.writing():
        for name in "ab":
            await context.put(name)
            await until(lambda: not context.stored())

    assert graph.written == ["a", "b"]


@awaited
async def test_a_delivery_that_waits_is_not_taken_twice(tmp_path):
    """Sent again before it was written, it is written once; sent again later, the graph knows."""
    graph = Graph()
    context = Context(tmp_path, graph)

    await context.put("aaa")
    await context.written()

    assert graph.written == ["a"]


@awaited
async def test_what_is_stored_is_written_by_the_next_sidecar(tmp_path):
    """A sidecar that ends, however it does, leaves to the next one what it has not written."""
    away, graph = Graph(*[AWAY] * 1000), Graph()
    ended = Context(tmp_path, away)
    async with ended.writing():
        await ended.put("abc")
        await until(lambda: len(away.asked) > 2)

    await Context(tmp_path, graph).written()

    assert graph.written == ["a", "b", "c"]


@awaited
async def test_one_sidecar_of_a_home_writes(tmp_path):
    """The other ones store only, and one of them goes on when the first one has ended."""
    first, second = Graph(), Graph()
    contexts = [Context(tmp_path, graph) for graph in (first, second)]
    async with contexts[0].writing():
        await contexts[0].put("a")
        await until(lambda: first.written == ["a"])
        async with contexts[1].writing():
            await contexts[1].put("b")
            await until(lambda: first.written == ["a", "b"])
    async with contexts[1].writing():
        await contexts[0].put("c")
        await until(lambda: second.written == ["c"])

    await contexts[0].inbox.stop()


@awaited
async def test_a_file_that_is_busy_for_a_moment_is_read_again_soon(tmp_path, monkeypatch):
    """The log has it, and deliveries do not wait for the longest pause."""
    first, errors = spool.Spool.first, [WebhooksUnstored("database is locked")]

    def busy_once(*arguments):
        if errors:
            raise errors.pop()
        return first(*arguments)

    monkeypatch.setattr(spool.Spool, "first", busy_once)
    context = Context(tmp_path, Graph())

    async with context.writing():
        await context.put("a")
        await until(lambda: context.graph.written == ["a"])

    assert context.lines == [("webhooks not written", {"reason": "database is locked"})]


@awaited
async def test_without_a_secret_nothing_is_written_or_made(tmp_path):
    """Where webhooks are off there is no file."""
    await write_all(Context(tmp_path, Graph(), secret=None))

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "error",
    [AWAY, NO_SIDECAR, ENDED, TOO_LATE, UNUSABLE, NOT_INSTALLED, FORBIDDEN],
    ids=["no Neo4j", "no sidecar", "sidecar stops", "too late", "bad URI", "no plugin", "no right"],
)
@awaited
async def test_what_may_heal_is_tried_again(tmp_path, error):
    """A delivery is tried until it is written, and those behind it keep their order."""
    graph = Graph(error, error)
    context = Context(tmp_path, graph)
    await context.put("ab")

    await context.written()

    assert graph.written == ["a", "b"]


@pytest.mark.parametrize(
    "error", [FAILED, QUOTED, ValueError("data")], ids=["failed", "quoted", "any"]
)
@awaited
async def test_what_cannot_heal_is_given_up_and_told(tmp_path, error):
    """Such a delivery holds up none behind it; the log names it and the code, not the text."""
    graph = Graph(error)
    context = Context(tmp_path, graph)
    await context.put("ab")

    await context.written()

    assert graph.written == ["b"]
    [(event, facts)] = context.lines
    assert event == "webhook given up"
    assert (facts["delivery"], facts["webhook"]) == ("a", "issues")
    assert facts["reason"] in {QUOTED.neo4j_code, FAILED.neo4j_code, "ValueError"}


@pytest.mark.parametrize("error", [AGAIN, ENDED, TOO_LATE], ids=["again", "stops", "too late"])
@awaited
async def test_one_that_fails_again_and_again_lets_the_others_go_first(tmp_path, error):
    """After three failures a delivery goes behind all that wait, and is written when it can be."""
    graph = Graph()
    graph.blocked["a"] = error
    context = Context(tmp_path, graph)
    await context.put("abc")

    async with context.writing():
        await until(lambda: graph.written == ["b", "c"])
        assert graph.asked[:3] == ["a", "a", "a"]
        await context.put("d")
        await until(lambda: graph.written == ["b", "c", "d"])
        del graph.blocked["a"]
        await until(lambda: not context.stored())

    assert graph.written == ["b", "c", "d", "a"]


@awaited
async def test_what_comes_does_not_wait_for_one_that_is_not_due(tmp_path, monkeypatch):
    """A delivery that went behind the others waits alone, however long its pause is."""
    monkeypatch.setattr(module, "_SHORTEST_PAUSE", 1000.0)
    for each in (module, spool):
        monkeypatch.setattr(each, "LONGEST_PAUSE", 1000.0)
    monkeypatch.setattr(module, "MOST_FAILURES", 1)
    graph = Graph(AGAIN)
    context = Context(tmp_path, graph)
    await context.put("a")

    async with context.writing():
        await until(lambda: context.lines)
        await context.put("b")
        await until(lambda: context.stored() == ["a"])

    assert graph.asked == ["a", "b"]


@pytest.mark.parametrize("error", [AWAY, NO_SIDECAR], ids=["no Neo4j", "no sidecar"])
@awaited
async def test_while_nobody_can_write_the_order_stays(tmp_path, monkeypatch, error):
    """Nothing is held against a delivery that nobody has tried to write, for however long."""
    monkeypatch.setattr(module, "LONGEST_PAUSE", 0.001)
    monkeypatch.setattr(module, "KEEP_SECONDS", 0.0)
    graph = Graph(*[error] * 20)
    context = Context(tmp_path, graph)
    await context.put("abc")

    await context.written()

    assert graph.written == ["a", "b", "c"]


@awaited
async def test_one_that_keeps_failing_is_given_up_in_time(tmp_path, monkeypatch):
    """Its time counts from its first failure though Neo4j answers, also when it is alone."""
    monkeypatch.setattr(module, "KEEP_SECONDS", 0.02)
    graph = Graph()
    graph.blocked["a"] = AGAIN
    context = Context(tmp_path, graph)
    await context.put("a")

    await context.written()

    assert context.lines[-1][0] == "webhook given up"


@awaited
async def test_a_file_that_cannot_be_used_is_told(tmp_path, monkeypatch):
    """The log says so again and again, until somebody has mended it."""
    monkeypatch.setattr(module, "LONGEST_PAUSE", 0.001)
    file = tmp_path / "webhooks.sqlite"
    file.write_bytes(b"no database" * 1000)
    context = Context(tmp_path, Graph())

    async with context.writing():
        await until(lambda: len(context.lines) > 1)
        file.unlink()
        await context.put("a")
        await until(lambda: not context.stored())

    event, facts = context.lines[0]
    assert event == "webhooks not written"
    assert "file is not a database" in facts["reason"]
    assert str(tmp_path) not in facts["reason"]


# Repositories


@pytest.mark.parametrize("error", [None, AWAY, AGAIN, NO_SIDECAR])
@awaited
async def test_a_repository_whose_write_is_blocked_holds_up_no_other(tmp_path, error):
    """While one waits for a lock, or fails, those of other repositories are written in order."""
    graph = Graph()
    if error is None:
        graph.hanging = {"a1"}
    else:
        graph.blocked = {"a1": error}
    context = Context(tmp_path, graph)
    await context.put(["a1", "a2"], "1")
    await context.put(["b1", "b2"], "2")
    await context.put(["c1"])

    async with context.writing():
        await until(lambda: not {"b1", "b2", "c1"} & set(context.stored()))

        assert [each for each in graph.written if each[0] == "b"] == ["b1", "b2"]
        assert "c1" in graph.written
        assert "a1" in context.stored()


@awaited
async def test_deliveries_of_a_repository_are_written_in_order(tmp_path):
    """However many repositories there are, each one's come in the order of the file."""
    graph = Graph()
    context = Context(tmp_path, graph)
    for number in range(20):
        for repository in "abcdefghijkl":
            await context.put([f"{repository}{number:02}"], repository)

    await context.written()

    for repository in "abcdefghijkl":
        of_it = [each for each in graph.written if each[0] == repository]
        assert of_it == sorted(of_it)
        assert len(of_it) == 20


@awaited
async def test_a_file_of_the_version_before_is_taken_over(tmp_path):
    """What an older sidecypher has stored is written."""
    with contextlib.closing(sqlite3.connect(tmp_path / "webhooks.sqlite")) as file:
        file.execute(spool._UPGRADES[0])
        file.execute("PRAGMA user_version = 1")
        file.execute(
            "INSERT INTO delivery (id, event, payload, received_at) "
            "VALUES ('old', 'issues', CAST('{}' AS BLOB), '2026-01-02T00:00:00+00:00')"
        )
        file.commit()
    graph = Graph()
    context = Context(tmp_path, graph)
    await context.put(["new"], "1")

    await context.written()

    assert sorted(graph.written) == ["new", "old"]
