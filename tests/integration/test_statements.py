"""Statements that bodies run: their modes and their results, on a real Neo4j."""

import neo4j
import psutil
import pytest
from neo4j.exceptions import ClientError

MODES = ["READ", "WRITE", "SCHEMA"]
NEEDED = {
    "MATCH (n) RETURN n": "READ",
    "CREATE (:Written)": "WRITE",
    "CREATE (n:Written) RETURN n": "WRITE",
    "CALL { CREATE (:Written) }": "WRITE",
    "CALL test.run('CREATE (:Written)', {}) YIELD value RETURN value": "WRITE",
    "CREATE INDEX written FOR (n:Written) ON (n.x)": "SCHEMA",
}
CASES = [(mode, statement) for mode in MODES for statement in NEEDED]


@pytest.fixture
def graph(session):
    """An empty graph that has neither nodes nor the index afterwards."""
    session.run("DROP INDEX written IF EXISTS").consume()
    yield session
    session.run("DROP INDEX written IF EXISTS").consume()


def traces(session):
    """Count what the statements of `NEEDED` leave behind."""
    nodes = session.run("MATCH (n:Written) RETURN count(n)").single().value()
    return nodes + len(session.run("SHOW INDEXES WHERE name = 'written'").data())


@pytest.mark.parametrize(("mode", "statement"), CASES)
def test_a_mode_allows_what_it_says(graph, mode, statement):
    """A statement above the procedure's mode is SC-219 and leaves nothing; any other runs."""
    call = f"CALL test.run{mode.capitalize()}($statement)"

    if MODES.index(NEEDED[statement]) <= MODES.index(mode):
        graph.run(call, statement=statement).consume()
        assert traces(graph) == (NEEDED[statement] != "READ")
    else:
        told = rf"\[SC-219\].*`test.run{mode.capitalize()}`.*{mode}"
        with pytest.raises(ClientError, match=told):
            graph.run(call, statement=statement).consume()
        assert traces(graph) == 0


def test_no_mode_administers_the_dbms(graph):
    """A statement that changes users or databases is refused in every mode."""
    statement = "CALL dbms.killConnection('x')"
    for mode in MODES:
        with pytest.raises(ClientError, match=r"\[SC-219\].*administers the DBMS"):
            graph.run(f"CALL test.run{mode.capitalize()}($it)", it=statement).consume()


IN_TRANSACTIONS = [
    "UNWIND range(1, 10) AS i CALL (i) { CREATE (:Written) } IN TRANSACTIONS OF 2 ROWS",
    "UNWIND range(1, 10) AS i CALL (i) { CREATE (n:Written) RETURN n } IN TRANSACTIONS RETURN n",
    "UNWIND range(1, 9) AS i CALL (i) { CREATE (:Written) } IN 2 CONCURRENT TRANSACTIONS",
    "UNWIND range(1, 9) AS i CALL (i) { CREATE (:Written) } IN TRANSACTIONS ON ERROR CONTINUE",
    "MATCH (n) WITH count(n) AS i CALL (i) { CREATE (:Written) } IN TRANSACTIONS",
    "PROFILE UNWIND [1] AS i CALL (i) { CREATE (:Written) } IN TRANSACTIONS",
]


@pytest.mark.parametrize("mode", ["Write", "Schema"])
@pytest.mark.parametrize("statement", IN_TRANSACTIONS)
def test_nothing_is_committed_but_by_the_caller(graph, mode, statement):
    """A statement with transactions of its own is refused, the first time and any other."""
    for _ in range(2):
        with pytest.raises(ClientError, match=rf"\[SC-219\].*`test.run{mode}`.*IN TRANSACTIONS"):
            graph.run(f"CALL test.run{mode}($statement)", statement=statement).consume()

        assert traces(graph) == 0


@pytest.mark.parametrize("then", ["CREATE INDEX written FOR (n:Written) ON (n.x)", "NO CYPHER"])
def test_a_refused_statement_dooms_what_was_done_before(graph, then):
    """After a refusal or failure, swallowed or not, nothing of the transaction stays."""
    with pytest.raises(ClientError):
        graph.run("CALL test.runAfter('CREATE (:Written)', $then)", then=then).consume()

    assert traces(graph) == 0


@pytest.mark.parametrize("option", ["EXPLAIN", "CYPHER 5 EXPLAIN", "EXPLAIN /* x */ CYPHER 5"])
def test_an_explained_statement_does_nothing(graph, option):
    """EXPLAIN gives no records and does nothing."""
    result = graph.run(f"CALL test.runWrite('{option} CREATE (n:Written) RETURN n')")

    assert result.single()["value"] == 0
    assert traces(graph) == 0


@pytest.mark.parametrize(
    "option", ["PROFILE", "CYPHER 5 profile", "// x\n PROFILE CYPHER runtime = slotted"]
)
def test_a_profiled_statement_obeys_the_mode(graph, option):
    """PROFILE runs the statement, so its mode counts."""
    statement = f"{option} CREATE (n:Written) RETURN n"
    with pytest.raises(ClientError, match=r"\[SC-219\]"):
        graph.run("CALL test.runRead($it)", it=statement).consume()

    assert graph.run("CALL test.runWrite($it)", it=statement).single()["value"] == 1
    assert traces(graph) == 1


@pytest.mark.parametrize(
    ("statement", "place"),
    [
        ("RETURN x", 'line 1, column 8 (offset: 7))\n"RETURN x"\n        ^'),
        ("RETURN 1 +\n  x", 'line 2, column 3 (offset: 13))\n"  x"\n   ^'),
        ("// x", 'line 0, column 1 (offset: 1))\n"// x"\n  ^'),
    ],
)
def test_a_syntax_error_is_told_as_for_the_statement_alone(graph, statement, place):
    """Message and place are those Neo4j tells whoever runs the statement."""
    errors = []
    for run in (
        lambda: graph.run("CALL test.runRead($it)", it=statement).consume(),
        lambda: graph.run(statement).consume(),
    ):
        with pytest.raises(ClientError) as caught:
            run()
        errors.append((caught.value.code, caught.value.message))

    assert errors[0] == errors[1]
    assert place in errors[0][1]


def test_an_empty_statement_is_told_without_the_bridges_own_words(graph):
    """The bridge explains each statement first; an error shows nothing of that."""
    with pytest.raises(ClientError, match="Unexpected end of input") as caught:
        graph.run("CALL test.runRead('')").consume()

    assert '"EXPLAIN"' not in caught.value.message
    assert "offset: -" not in caught.value.message


@pytest.mark.parametrize("name", ["test.sumOf", "test.sumOfAsync"])
def test_a_million_records_pass_in_flat_memory(session, server, name):
    """A result of any length is read page by page: the sidecar does not grow with it."""
    sidecar = server.process("sidecar")
    session.run(f"CALL {name}('UNWIND range(1, 5000) AS n RETURN n')").consume()
    before = sidecar.memory_info().rss

    # Neo4j's own limit is a minute.
    many = f"CALL {name}('UNWIND range(1, 1000000) AS n RETURN n')"
    row = session.run(neo4j.Query(many, timeout=280)).single()

    assert row.values() == [1_000_000, 500_000_500_000]
    assert sidecar.memory_info().rss - before < 20 * 1024 * 1024


@pytest.mark.parametrize("name", ["test.passOn", "test.passOnAsync"])
def test_a_stream_over_an_open_result_may_end_early(session, name):
    """LIMIT on a stream that reads an endless-looking result closes both."""
    query = (
        f"CALL {name}('UNWIND range(1, 100000000) AS n RETURN n') YIELD value RETURN value LIMIT 3"
    )

    assert session.run(query).value() == [1, 2, 3]


def test_a_result_is_read_to_its_end_before_the_next_statement(session):
    """Writing while a result is open does not change what the result has."""
    session.run("UNWIND range(1, 1200) AS n CREATE (:Source {n: n})").consume()

    assert session.run("CALL test.copyEach(3000)").single().values() == [1200, 2400]


def test_what_a_statement_writes_does_not_depend_on_its_reader(session):
    """A body that reads two records of a writing statement has all of it done."""
    query = "UNWIND range(1, 5000) AS n CREATE (m:Made {n: n}) RETURN m.n AS n"

    assert session.run("CALL test.readSome($q, 2)", q=query).value() == [1, 2]
    assert session.run("MATCH (m:Made) RETURN count(m)").single().value() == 5000


def test_results_stay_apart_in_nested_calls(session):
    """A procedure called by a statement of a body reads its own results beside the open one."""
    inner = "UNWIND range(1, 1500) AS m RETURN m AS n"
    query = f"UNWIND range(1, 3) AS i CALL test.sumOf('{inner}') YIELD total RETURN i * total AS n"

    total = sum(range(1, 1501))
    assert session.run("CALL test.passOn($q)", q=query).value() == [total, 2 * total, 3 * total]


def test_a_result_that_fails_late_fails_the_call(session):
    """An error in the middle of a result is the call's error, with Neo4j's own status."""
    with pytest.raises(ClientError) as caught:
        session.run(
            "CALL test.sumOf('UNWIND range(1, 3000) AS n RETURN 1 / (2500 - n) AS n')"
        ).consume()

    assert caught.value.code == "Neo.ClientError.Statement.ArithmeticError"


def test_no_thread_or_connection_stays_behind(session, server):
    """Results that were given up leave nothing open: the same call works many times."""
    neo4j = server.process("neo4j")
    query = (
        "CALL test.passOn('UNWIND range(1, 5000) AS n RETURN n') YIELD value RETURN value LIMIT 1"
    )
    for _ in range(10):
        session.run(query).consume()
    before = files(neo4j)
    for _ in range(100):
        session.run(query).consume()

    assert files(neo4j) <= before + 20


def files(process):
    """Count the open files and sockets of a process."""
    try:
        return process.num_fds()
    except psutil.AccessDenied:
        pytest.skip("not allowed to look at the other process")


def test_parameters_of_every_kind_reach_a_statement(session):
    """Names and nested values of parameters are kept."""
    params = {"rows": [{"n": 1}, {"n": 2}], "$odd name": 3}
    query = "UNWIND $rows AS r RETURN r.n + $`$odd name` AS n"

    assert session.run("CALL test.asked($q, $p)", q=query, p=params).value() == [4, 5]
