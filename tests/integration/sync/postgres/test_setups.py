"""How PostgreSQL is set up: what is refused, and what is told."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from sidecypher import CannotCheck
from sidecypher_procedures.sync.errors import (
    PostgresUnavailable,
    PostgresUnsuitable,
    SyncSettingsError,
)
from sidecypher_procedures.sync.postgres.checks import CHECKS
from sidecypher_procedures.sync.postgres.connection import ask_postgres
from sidecypher_procedures.sync.postgres.outbox import PostgresOutbox
from sidecypher_procedures.sync.postgres.schema import check_schema, init, migrations

SCHEMA = "sidecypher"
EVENT = {"type": "userMessage", "content": "Hello"}


def apply(url, schema=SCHEMA):
    return ask_postgres(url, lambda conn: init(conn, schema))


def check(url):
    return ask_postgres(url, lambda conn: check_schema(conn, SCHEMA))


def look(name):
    [found] = [each for each in CHECKS if each.name == name]
    return found.look(None)


@pytest.fixture
def named(postgres_server, monkeypatch):
    """The address of PostgreSQL is set, as an operator does it."""
    monkeypatch.setenv("SIDECYPHER_POSTGRES_URL", postgres_server.url)
    return postgres_server


def test_each_file_is_applied_once(postgres_server):
    """The first `init` applies all files, the second one nothing."""
    names = [each.name for each in migrations()]
    assert apply(postgres_server.url) == names
    assert apply(postgres_server.url) == []
    assert check(postgres_server.url) == len(names)


def test_several_apply_at_once(postgres_server):
    """Of several `init` at once, one applies the files, and the others wait and find them."""
    with ThreadPoolExecutor(4) as pool:
        found = [*pool.map(apply, [postgres_server.url] * 4)]
    assert sorted(map(len, found)) == [0, 0, 0, len(migrations())]


def test_two_schemas_are_apart(postgres_server):
    """The setting names the schema; the rest of the database is left alone."""
    postgres_server.run("DROP SCHEMA IF EXISTS other CASCADE")
    apply(postgres_server.url)
    apply(postgres_server.url, "other")
    with psycopg.connect(postgres_server.url) as conn:
        PostgresOutbox("other").add(conn, "r", EVENT)
    counts = "SELECT (SELECT count(*) FROM {}.outbox) AS count"
    assert postgres_server.run(counts.format("other"))[0]["count"] == 1
    assert postgres_server.run(counts.format(SCHEMA))[0]["count"] == 0
    postgres_server.run("DROP SCHEMA other CASCADE")


def test_a_failing_file_leaves_nothing(postgres_server):
    """All files are applied in one transaction."""
    postgres_server.run(f"CREATE SCHEMA {SCHEMA}; CREATE TABLE {SCHEMA}.outbox ()")
    with pytest.raises(PostgresUnavailable, match="DuplicateTable"):
        apply(postgres_server.url)
    assert postgres_server.run("SELECT to_regclass('sidecypher.migrations') AS it")[0]["it"] is None


def test_missing_tables_are_told(postgres_server):
    """The error names the command that creates them."""
    with pytest.raises(PostgresUnsuitable) as raised:
        check(postgres_server.url)
    assert "sidecypher sync postgres init" in raised.value.hint
    with (
        psycopg.connect(postgres_server.url) as conn,
        pytest.raises(PostgresUnsuitable) as raised,
    ):
        PostgresOutbox().add(conn, "r", EVENT)
    assert "sidecypher sync postgres init" in raised.value.hint


def test_tables_of_a_newer_program_are_refused(postgres_server):
    """An old program neither writes to newer tables nor changes them."""
    apply(postgres_server.url)
    postgres_server.run("INSERT INTO sidecypher.migrations (version, name) VALUES (99, 'future')")
    for work in (apply, check):
        with pytest.raises(PostgresUnsuitable, match="version 99") as raised:
            work(postgres_server.url)
        assert "newer" in raised.value.hint


def test_tables_of_an_older_program_are_refused(postgres_server):
    """The worker waits for `init` instead of failing at a statement."""
    apply(postgres_server.url)
    postgres_server.run("DELETE FROM sidecypher.migrations")
    with pytest.raises(PostgresUnsuitable, match="version 0") as raised:
        check(postgres_server.url)
    assert "init" in raised.value.hint


@pytest.fixture
def plain_role(postgres_server):
    """A role that may do nothing but connect."""
    postgres_server.run("CREATE ROLE plain LOGIN")
    yield postgres_server.url_of("plain")
    postgres_server.run("DROP OWNED BY plain; DROP ROLE plain")


def test_a_role_without_rights_is_told(postgres_server, plain_role):
    """Neither `init` nor a program can do without the rights that the page lists."""
    with pytest.raises(PostgresUnsuitable, match="lacks a right"):
        apply(plain_role)
    apply(postgres_server.url)
    with pytest.raises(PostgresUnsuitable, match="lacks a right"):
        check(plain_role)
    with (
        psycopg.connect(plain_role) as conn,
        pytest.raises(PostgresUnsuitable, match="lacks a right"),
    ):
        PostgresOutbox().add(conn, "r", EVENT)


def test_unknown_users_and_databases_are_told(postgres_server):
    """The error says what to correct, and names neither user nor password."""
    for url, told in (
        (postgres_server.url_of("nobody-here", "secret-of-tests"), "the user"),
        (postgres_server.url.replace("/postgres?", "/nothing-here?"), "no such database"),
        (postgres_server.url.replace("sidecypher-postgres-", "elsewhere-"), "cannot be reached"),
    ):
        with pytest.raises(PostgresUnavailable, match=told) as raised:
            check(url)
        shown = f"{raised.value}{raised.value.hint}"
        assert not [each for each in ("secret", "nobody", "nothing-here") if each in shown]


def test_a_wrong_password_is_told_without_it(own_postgres):
    """A password that PostgreSQL refuses is an error of its own."""
    own_postgres.run("CREATE ROLE guarded LOGIN PASSWORD 'right-password'")
    rules = own_postgres.folder / "data" / "pg_hba.conf"
    rules.write_text(f"local all guarded scram-sha-256\n{rules.read_text()}")
    own_postgres.run("SELECT pg_reload_conf()")
    with pytest.raises(PostgresUnavailable, match="password") as raised:
        check(own_postgres.url_of("guarded", "wrong-password"))
    assert "wrong-password" not in f"{raised.value}{raised.value.hint}"
    assert ask_postgres(own_postgres.url_of("guarded", "right-password"), _one) == 1


async def _one(conn):
    [row] = await (await conn.execute("SELECT 1 AS one")).fetchall()
    return row["one"]


@pytest.mark.parametrize("url", ["postgresql://[host/x", "postgresql://h/x?colour=red"])
def test_an_address_that_is_none_is_refused(url):
    """A wrong address is an error before anything is sent."""
    with pytest.raises(SyncSettingsError):
        ask_postgres(url, _one)


def test_another_default_isolation_loses_nothing(postgres_server):
    """Whatever the default of the database is, commands see what others commit meanwhile."""
    found = ask_postgres(
        f"{postgres_server.url}&options=-c%20default_transaction_isolation%3Dserializable", _level
    )
    assert found == "read committed"


async def _level(conn):
    async with conn.transaction():
        query = "SELECT current_setting('transaction_isolation') AS level"
        [row] = await (await conn.execute(query)).fetchall()
    return row["level"]


@pytest.mark.parametrize("name", [each.name for each in CHECKS])
def test_without_an_address_there_is_nothing_to_check(monkeypatch, name):
    """Who uses no PostgreSQL gets no warning."""
    monkeypatch.delenv("SIDECYPHER_POSTGRES_URL", raising=False)
    assert look(name).state == "OK"


def test_checks_of_missing_tables_say_what_to_run(named):
    """The server answers, its tables are missing, and the rest cannot be checked."""
    assert look("connection").state == "OK"
    found = look("tables")
    assert (found.state, "[SC-947]" in found.found) == ("ERROR", True)
    with pytest.raises(CannotCheck):
        look("lag")


def test_checks_tell_what_waits_and_what_is_dead(named):
    """Events without a worker, and dead letters, are warnings with a command."""
    apply(named.url)
    assert {look(name).state for name in ("connection", "tables", "dead letters")} == {"OK"}
    with psycopg.connect(named.url) as conn:
        PostgresOutbox().add(conn, "r", EVENT)
        PostgresOutbox().add(conn, "r", EVENT)
    found = look("lag")
    assert (found.state, found.found.startswith("2 events wait")) == ("WARN", True)
    assert "sidecypher sync postgres run" in found.fix
    named.run(
        "UPDATE sidecypher.outbox SET next_at = 'infinity',"
        " dead_at = CASE WHEN id = 1 THEN now() END"
    )
    found = look("dead letters")
    assert (found.state, found.found) == ("WARN", "1 events, 1 wait behind them")


def test_a_postgres_that_is_away_is_an_error(monkeypatch):
    """The first check fails with its code, and the others cannot be made."""
    monkeypatch.setenv("SIDECYPHER_POSTGRES_URL", "postgresql://me@/x?host=/nowhere")
    found = look("connection")
    assert (found.state, "[SC-946]" in found.found) == ("ERROR", True)
    with pytest.raises(CannotCheck):
        look("dead letters")


def test_a_clock_that_is_set_back_holds_nothing_back(named):
    """An event is due when it is added, whatever the clock of PostgreSQL says."""
    apply(named.url)
    with psycopg.connect(named.url) as conn:
        PostgresOutbox().add(conn, "r", EVENT)
    due = "SELECT next_at = '-infinity' AS due FROM sidecypher.outbox"
    assert named.run(due) == [{"due": True}]


def test_a_lost_connection_ends_the_transaction_only(own_postgres):
    """After PostgreSQL has restarted, a program adds its event again with the same id."""
    apply(own_postgres.url)
    outbox = PostgresOutbox()
    conn = psycopg.connect(own_postgres.url)
    event_id = outbox.add(conn, "r", EVENT)
    own_postgres.kill()
    with pytest.raises(psycopg.OperationalError):
        outbox.add(conn, "r", EVENT)
    conn.close()
    own_postgres.start()
    with psycopg.connect(own_postgres.url) as conn:
        assert outbox.add(conn, "r", {**EVENT, "id": event_id}) == event_id
    found = own_postgres.run("SELECT event_id FROM sidecypher.outbox")
    assert found == [{"event_id": event_id}]


def test_an_async_program_gets_the_same_errors(postgres_server):
    """Missing tables are told to async programs, too."""

    async def added():
        async with await psycopg.AsyncConnection.connect(postgres_server.url) as conn:
            await PostgresOutbox().add(conn, "r", EVENT)

    with pytest.raises(PostgresUnsuitable):
        asyncio.run(added())


def test_text_is_text_whatever_the_encoding_of_the_database(postgres_server):
    """In a database of the encoding SQL_ASCII, text would come as bytes."""
    with psycopg.connect(postgres_server.url, autocommit=True) as conn:
        conn.execute("CREATE DATABASE plain ENCODING 'SQL_ASCII' TEMPLATE template0")
    try:
        url = postgres_server.url.replace("/postgres?", "/plain?")
        assert ask_postgres(url, read_text) == "run"
    finally:
        with psycopg.connect(postgres_server.url, autocommit=True) as conn:
            conn.execute("DROP DATABASE plain WITH (FORCE)")


async def read_text(conn):
    cursor = await conn.execute("SELECT 'run'::text AS found")
    return (await cursor.fetchone())["found"]
