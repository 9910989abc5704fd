"""S4: a sidecar gone bad sends Py4J's commands instead of answers."""

import json

import pytest
from fix_sidecars import page
from fix_waiting import wait_until

from sidecypher.transport.py4j import escape

COMMANDS = {
    "a field": b"f\ng\no0\nname\ne\n",
    "reflection": b"r\nu\nrj\njava.lang.System\ne\n",
    "a constructor": b"i\njava.io.FileOutputStream\ns{file}\ne\n",
    "a static method": b"c\nz:java.lang.System\nexit\ni1\ne\n",
    "the entry point": b"c\nt\nshutdown\ns{}\ne\n",
    "memory": b"m\nd\no0\ne\n",
    "an import": b"j\ni\nrj\nsjava.lang\ne\n",
    "a list": b"l\na\no0\ne\n",
    "an array": b"a\nc\nrjava.lang.Object\ni1000000000\ne\n",
    "shutdown": b"s\ne\n",
    "a callback without text": b"c\nt\nrun\ni1\ne\n",
    "a callback with more": b"c\nt\nrun\ns{}\ns{}\ne\n",
}


@pytest.fixture
def unharmed(server, session, tmp_path):
    """Afterwards the JVM is the one it was, and neither a file nor a node was made."""
    before = server.process("neo4j").pid
    yield
    assert server.process("neo4j").pid == before
    assert not (tmp_path / "made").exists()
    assert session.run("MATCH (n) RETURN count(n)").single().value() == 0


def statement(call_id, cypher):
    """Return a callback, as a body's `ctx.run` sends it."""
    request = {"id": call_id, "cursor": 1, "cypher": cypher, "params": {}}
    return b"c\nt\nrun\ns" + escape(json.dumps(request).encode()) + b"\ne\n"


@pytest.mark.usefixtures("unharmed")
@pytest.mark.parametrize("kind", COMMANDS)
def test_a_command_is_refused(evidence, sick_sidecar, tmp_path, kind):
    """Nothing of Py4J is executed in the JVM: the call fails and its connection is closed."""
    command = COMMANDS[kind].replace(b"{file}", bytes(tmp_path / "made"))
    sick = sick_sidecar(lambda request: command)

    error = evidence.strike("CALL test.echo($value)", value=evidence.payload)

    assert "SC-214" in error.message
    wait_until(lambda: sick.heard == [b"!xsrefused\n"])
    evidence.told_by_plugin("SC-214")


@pytest.mark.usefixtures("unharmed")
def test_a_command_after_an_answer_is_refused(evidence, sick_sidecar, tmp_path):
    """What is smuggled in behind an answer is read as the next one's, and refused."""
    command = COMMANDS["a constructor"].replace(b"{file}", bytes(tmp_path / "made"))
    sick_sidecar(lambda request: page(request, ["x"]) + command)

    error = evidence.strike("CALL test.echo('x')")

    assert "SC-214" in error.message
    evidence.told_by_plugin("SC-214")


@pytest.mark.usefixtures("unharmed")
def test_a_statement_for_another_call_is_not_run(evidence, sick_sidecar):
    """A callback must name the call that waits on its connection."""
    sick_sidecar(lambda request: statement("another", "CREATE (:Smuggled)"))

    error = evidence.strike("CALL test.run('RETURN 1')")

    assert "SC-214" in error.message
    evidence.told_by_plugin("SC-214")


@pytest.mark.usefixtures("unharmed")
def test_a_statement_that_the_mode_forbids_is_not_run(evidence, sick_sidecar):
    """A sidecar can run no more in its caller's transaction than the procedure's mode allows."""
    sick_sidecar(
        lambda request: statement(request["id"], "CREATE (:Smuggled)") + page(request, ["x"])
    )

    error = evidence.strike("CALL test.echo($value)", value=evidence.payload)

    assert "SC-219" in error.message
    assert "its mode is READ" in error.message
