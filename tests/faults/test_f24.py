"""F24: the plugin and the sidecar were not made from the same procedures, or the same version."""

import shutil

import pytest
from fix_server import PROCEDURES
from fix_sidecars import page

from sidecypher.protocol import envelope

CHANGED = {"test.echoAsync", "test.count"}


@pytest.fixture
def changed(server, another_sidecar, tmp_path):
    """In place of the supervised sidecar one in which two procedures take more than they did."""
    folder = tmp_path / "procedures"
    shutil.copytree(PROCEDURES, folder, ignore=shutil.ignore_patterns("__pycache__"))
    file = folder / "echo.py"
    code = file.read_text()
    for before in ("async def echo_async(value: str", "def count(ctx: Context, to: int"):
        assert before in code
        code = code.replace(before, f"{before}, more: int = 0")
    file.write_text(code.replace('@procedure("test.maybe")', '@procedure("test.renamed")'))
    with server.sidecar_down():
        yield another_sidecar(SIDECYPHER_PROCEDURES=str(folder))


@pytest.mark.slow
def test_only_what_differs_is_refused(session, evidence, changed, tmp_path):
    """A changed signature is SC-217, a name that is gone SC-203; all others are called as ever."""
    queries = {
        "test.echoAsync": "CALL test.echoAsync($value)",
        "test.count": "CALL test.count(3)",
    }
    for name, query in queries.items():
        error = evidence.error(query, value=evidence.payload)
        assert f"[SC-217] Plugin and sidecar disagree about `{name}`" in error.message
        assert "sidecypher plugin build" in error.message
    assert "SC-203" in evidence.error("CALL test.maybe(true)").message

    assert session.run("CALL test.echo('same')").single()["value"] == "same"
    assert session.run("CALL test.countList(3) YIELD value RETURN count(*)").single().value() == 3
    row = session.run("CALL sidecypher.call('test.echoAsync', ['new', 7])").single()["row"]
    assert row == {"value": "new"}
    log = (tmp_path / "sidecar.log").read_text()
    assert "it was built for other procedures" in log
    assert '"procedure": "test.count"' in log
    assert evidence.payload not in log


def test_a_sidecar_of_the_next_version_is_refused(evidence, scripted_sidecar):
    """A sidecar that speaks another version of the envelope is unavailable, and gets no call."""
    sidecar = scripted_sidecar(lambda request: page(request, ["x"]), version=envelope.VERSION + 1)

    error = evidence.error("CALL test.echo($value)", value=evidence.payload)

    assert "SC-210" in error.message
    assert f"does not speak version {envelope.VERSION} of the protocol" in error.message
    assert sidecar.calls == []
    evidence.told_by_plugin("SC-210")
