"""The same jar on the current lane's Neo4j: a small set, in Cypher that both lanes understand."""

import re
import time

import psutil
import pytest
from conformance.cases import VALUES
from fix_waiting import promised, wait_until
from neo4j.exceptions import ClientError, TransientError

from sidecypher.runtime.bootcheck import boot_check
from sidecypher.runtime.errors import PluginRefused

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def driver(current_server):
    """A driver of the current lane's server."""
    with current_server.driver() as driver:
        yield driver


@pytest.fixture
def session(driver):
    """A session on an empty graph."""
    with driver.session() as session:
        session.run("MATCH (n) DETACH DELETE n").consume()
        yield session


def test_it_is_the_current_lane(session, current_installation):
    """The server under test is the one of the lane's lock file."""
    components = session.run("CALL dbms.components() YIELD versions RETURN versions").value()

    assert components[0] == [current_installation.lock.neo4j]


def test_it_listens_on_loopback_only(current_server):
    """Bolt and HTTP on the loopback address are the only ports, by TCP and UDP."""
    listening = {
        connection.laddr.ip.removeprefix("::ffff:")
        for connection in current_server.process("neo4j").net_connections("inet")
        if connection.status in {psutil.CONN_LISTEN, psutil.CONN_NONE}
    }

    assert listening == {"127.0.0.1"}


def test_load_csv_reads_the_import_folder_only(current_server, session):
    """A file of the account is refused, a file that was put there to be imported is read."""
    token = current_server.home / "run" / "http-token"
    with pytest.raises(ClientError):
        session.run("LOAD CSV FROM $url AS line RETURN line", url=f"file://{token}").consume()

    (current_server.home / "neo4j" / "import" / "data.csv").write_text("one,two\n")
    found = session.run("LOAD CSV FROM 'file:///data.csv' AS line RETURN line").value()
    assert found == [["one", "two"]]


def test_commands_log_on(current_server):
    """The lane shows the certificate that commands wait for before they send the password."""
    assert current_server.command("call", "sidecypher.info").returncode == 0


def test_procedures_answer(session):
    """Rows come back, one call for each row."""
    found = session.run(
        "UNWIND range(1, 200) AS n CALL test.echo(toString(n)) YIELD value RETURN value"
    )

    assert found.value() == [str(n) for n in range(1, 201)]


def test_functions_answer(session):
    """A function stands in expressions, takes null, and shares its name with a procedure."""
    found = session.run(
        "RETURN [n IN range(1, 5) WHERE fn.twice(n) <> 4 | fn.twice(n)] AS all, "
        "fn.twice(null) AS nothing, fn.score('abc') AS value"
    ).single()
    rows = session.run("CALL fn.score('abc')").values()
    batch = session.run("CALL fn.score.batch([['a'], ['bc']]) YIELD index, score").values()

    assert found.values() == [[2, 6, 8, 10], None, 300]
    assert (rows, batch) == ([[3]], [[0, 1], [1, 2]])


def test_void_procedures_answer(session):
    """A void procedure runs for each row, and the rows go on."""
    found = session.run("UNWIND ['a', 'b'] AS text CALL fn.note(text) RETURN text")

    assert found.value() == ["a", "b"]
    assert session.run("MATCH (n:Note) RETURN count(n) AS n").single()["n"] == 2


@pytest.mark.parametrize("case", VALUES, ids=str)
def test_values_of_every_type_come_back(driver, case):
    """Each value of the conformance file comes back equal and of its type."""
    parameters = {"value": case.value} if case.cypher == "$value" else {}
    # Cypher does not compare lists and maps that hold null or NaN; so they are compared here.
    compared = (
        "value AS back, expected AS sent"
        if isinstance(case.value, list | dict)
        else "toStringOrNull(value) AS back, toStringOrNull(expected) AS sent, "
        "value = expected OR value IS NULL OR value <> value AND expected <> expected AS same"
    )
    with driver.session() as session, session.begin_transaction() as tx:
        record = tx.run(
            f"{case.match} WITH {case.cypher} AS expected "
            "CALL test.echoAny(expected) YIELD value "
            f"RETURN valueType(value) AS back_type, valueType(expected) AS sent_type, {compared}",
            parameters,
        ).single()
        tx.rollback()

    assert record["back_type"] == record["sent_type"]
    assert comparable(record["back"]) == comparable(record["sent"])
    assert record.get("same", default=True)


VECTOR = "vector([1, 2, 3], 3, FLOAT32)"
STORED = f"CREATE (:Text {{embedding: {VECTOR}}}) WITH 1 AS one"
CONVERT = "convert it in Cypher with `toFloatList(...)`"
PROPERTY = "property `embedding` is a VECTOR, .* pass `toFloatList(n.embedding)`"


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        (f"CALL test.echoAny({VECTOR})", f"parameter `value` holds a VECTOR.*{CONVERT}"),
        (f"CALL test.echoAny([1, {VECTOR}])", CONVERT),
        (f"CALL test.echoAny({{a: {VECTOR}}})", CONVERT),
        ("CALL test.echoAny(vector([1], 1, INT8))", CONVERT.replace("Float", "Integer")),
        (f"CREATE (n:Text {{embedding: {VECTOR}}}) WITH n CALL test.echoAny(n)", PROPERTY),
        (f"CREATE ()-[n:NEAR {{embedding: {VECTOR}}}]->() WITH n CALL test.echoAny(n)", PROPERTY),
        (f"CREATE p = ({{embedding: {VECTOR}}}) WITH p CALL test.echoAny(p)", PROPERTY),
        (f"CALL test.run('CYPHER 25 RETURN {VECTOR} AS v')", f"result column `v` .*{CONVERT}"),
        (f"{STORED} CALL test.run('MATCH (n:Text) RETURN n')", f"result column `n` .*{PROPERTY}"),
    ],
)
def test_a_vector_is_refused_with_what_converts_it(driver, statement, told):
    """A VECTOR is neither lost nor null: the error names the place and the Cypher function."""
    if "CREATE" in statement or "echoAny" in statement:
        statement = f"{statement} YIELD value RETURN value"
    with (
        pytest.raises(ClientError, match="SC-215") as caught,
        driver.session() as session,
        session.begin_transaction() as tx,
    ):
        tx.run(f"CYPHER 25 {statement}").consume()

    assert re.search(told.replace("(", r"\(").replace(")", r"\)"), str(caught.value))


def test_a_converted_vector_arrives(driver):
    """What the error says to write works, for floats and integers, in arguments and `ctx.run`."""
    with driver.session() as session, session.begin_transaction() as tx:
        floats, integers = tx.run(
            f"CYPHER 25 CREATE (n:Text {{embedding: {VECTOR}}}) WITH n "
            "CALL test.echoAny(toFloatList(n.embedding)) YIELD value AS floats "
            "CALL test.run('CYPHER 25 RETURN toIntegerList(vector([1], 1, INT8)) AS v') "
            "YIELD value RETURN floats, value"
        ).single()
        tx.rollback()

    assert (floats, integers) == ([1.0, 2.0, 3.0], {"v": [1]})


def comparable(value):
    """Return a value so that equality tells all of it apart; maps have no order, NaN is NaN."""
    match value:
        case dict():
            return {key: comparable(each) for key, each in value.items()}
        case list():
            return [comparable(each) for each in value]
    return repr(value)


def test_statements_see_and_change_the_callers_transaction(driver, session):
    """`ctx.run` sees what the caller has not committed, and a rollback undoes what it wrote."""
    with driver.session() as other, other.begin_transaction() as tx:
        tx.run("CREATE (:Draft {n: 1})")
        seen = tx.run(
            "CALL test.run('MATCH (d:Draft) CREATE (c:Copy {n: d.n + $x}) RETURN c.n AS n', {x: 1})"
        ).single()
        tx.rollback()

    assert seen["value"] == {"n": 2}
    assert session.run("MATCH (n) RETURN count(n) AS n").single()["n"] == 0


def test_statements_are_committed_with_the_caller(session):
    """What `ctx.run` wrote is there after the caller's commit, from async bodies too."""
    session.run("CALL test.run('CREATE (:Kept {by: $by})', {by: 'sync'})").consume()
    session.run("CALL test.runAsync('CREATE (:Kept {by: $by})', {by: 'async'})").consume()

    assert sorted(session.run("MATCH (k:Kept) RETURN k.by").value()) == ["async", "sync"]


def test_streams_come_whole_and_in_order(session):
    """Thousands of rows arrive once and in order."""
    query = "CALL test.count(5000) YIELD value RETURN collect(value) AS values"

    assert session.run(query).single()["values"] == list(range(5000))


def test_limit_closes_the_generator(session):
    """LIMIT ends an endless generator, and the body's `finally` runs."""
    label = f"limit {time.monotonic_ns()}"
    found = session.run("CALL test.closing($label) YIELD value RETURN value LIMIT 5", label=label)

    assert found.value() == [0, 1, 2, 3, 4]
    wait_until(lambda: label in session.run("CALL test.closed()").value())


def test_terminating_a_transaction_frees_its_caller(driver, session):
    """TERMINATE reaches a body that sleeps, and its caller is told within a second."""
    mark = f"terminate {time.monotonic_ns()}"
    with driver.session() as other:
        stuck = other.run("CALL test.hangAsync(60, $mark)", mark=mark)
        wait_until(lambda: mark in session.run("CALL test.running()").value())
        [name] = session.run(
            "SHOW TRANSACTIONS YIELD transactionId, currentQuery "
            "WHERE currentQuery CONTAINS 'test.hangAsync' AND NOT currentQuery CONTAINS 'SHOW' "
            "RETURN transactionId"
        ).value()
        session.run("TERMINATE TRANSACTION $name", name=name).consume()
        terminated = time.monotonic()

        with pytest.raises((ClientError, TransientError)):
            stuck.consume()

        assert time.monotonic() - terminated < promised(1.5)
    wait_until(lambda: mark not in session.run("CALL test.running()").value())


@pytest.mark.parametrize(
    ("statement", "status"),
    [
        ("THIS IS NO CYPHER", "Neo.ClientError.Statement.SyntaxError"),
        ("RETURN 1 / 0", "Neo.ClientError.Statement.ArithmeticError"),
        ("RETURN $missing", "Neo.ClientError.Statement.ParameterMissing"),
    ],
)
def test_a_failed_statement_keeps_its_status(driver, statement, status):
    """A statement's failure reaches the client with Neo4j's own status."""
    with driver.session() as session, pytest.raises(ClientError) as caught:
        session.run("CALL test.run($statement)", statement=statement).consume()

    assert caught.value.code == status


def test_a_failure_of_a_body_is_a_client_error(session):
    """A body's failure is a ProcedureCallFailed with our code."""
    with pytest.raises(
        ClientError, match=r"\[SC-202\] `test.fail` failed with ValueError"
    ) as caught:
        session.run("CALL test.fail('value', 'secret')").consume()

    assert caught.value.code == "Neo.ClientError.Procedure.ProcedureCallFailed"


def test_a_plugin_that_is_refused_is_told_with_the_reason(
    current_installation, current_java, tmp_path
):
    """This lane writes its debug log as JSON; the reason is found in it all the same."""
    broken = tmp_path / "broken.jar"
    broken.write_bytes(b"no jar at all" * 100)

    with pytest.raises(PluginRefused) as refused:
        boot_check(broken, {"a.b"}, installation=current_installation, java=current_java)

    assert any("broken.jar" in line for line in refused.value.details["log_tail"])
    assert not any(line.startswith("{") for line in refused.value.details["log_tail"])
