"""F25: modules of procedures that do at their import what none should."""

import json
import threading
from functools import partial

import httpx
import pytest
from fix_modules import good, write
from fix_server import PROCEDURES
from fix_waiting import wait_until

from sidecypher.app import Sidecar
from sidecypher.host.settings import load_settings
from sidecypher.loading.loader import load

BAD = {
    "syntax.py": ("def f(:\n", "syntax error in line 1: invalid syntax"),
    "raises.py": ("raise ValueError('no index')\n", "ValueError at import: no index"),
    "exits.py": ("raise SystemExit(3)\n", "SystemExit at import: 3"),
    "lacks.py": (
        "import nowhere_at_all\n",
        "ModuleNotFoundError at import: No module named 'nowhere_at_all'",
    ),
}
"""Modules that are left out, and the reason."""

RUDE = {
    "prints": (
        "print('printed at import')",
        "it printed to standard output, which went to standard error",
    ),
    "moves": (
        "import os\nos.chdir('/')",
        "it changed the working directory, which was changed back",
    ),
    "speaks": (
        "from locale import LC_ALL as A, setlocale as s\ns(A, 'C' if s(A) != 'C' else 'C.UTF-8')",
        "it changed the locale, which was changed back",
    ),
    "grabs": (
        "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)",
        "it set a handler for SIGTERM, which was ignored",
    ),
}
"""Modules that are loaded, and the warning."""

HANGING = "import threading\nthreading.gate.wait()\n"


@pytest.fixture
def folder(tmp_path):
    """A folder with good and bad modules."""
    made = tmp_path / "procedures"
    write(made, "fine.py", good("fine.procedure", "answered by fine"))
    for file, (source, _) in BAD.items():
        write(made, file, source)
    for name, (source, _) in RUDE.items():
        write(made, f"{name}.py", source + good(f"{name}.procedure", f"answered by {name}"))
    return made


def problems(session):
    """What `sidecypher.procedures` says is wrong, by module."""
    rows = session.run(
        "CALL sidecypher.procedures() YIELD name, kind, problem "
        "WHERE problem IS NOT NULL RETURN name, kind, problem"
    )
    found = [row.values() for row in rows]
    assert {kind for _, kind, _ in found} <= {"module"}
    return {name: problem for name, _, problem in found}


def shown(file, reason):
    """What every Cypher user sees of it: no text of a foreign exception."""
    kind, foreign, _ = reason.partition(" at import: ")
    return f"{kind} at import in line 1 of `{file}`" if foreign else reason


@pytest.mark.slow
def test_bad_modules_keep_no_other_from_being_called(
    server, session, another_sidecar, folder, tmp_path
):
    """Neo4j calls the procedures of all other modules; each bad one is shown with its reason."""
    with server.sidecar_down():
        sidecar = another_sidecar(SIDECYPHER_PROCEDURES=f"{PROCEDURES},{folder}")

        assert session.run("CALL test.echo('works')").single()["value"] == "works"
        for name in ("fine", *RUDE):
            row = session.run(f"CALL sidecypher.call('{name}.procedure') YIELD row").single()
            assert row["row"] == {"value": f"answered by {name}"}
        assert problems(session) == {
            **{file: shown(file, reason) for file, (_, reason) in BAD.items()},
            **{f"{name}.py": f"warning: {what}" for name, (_, what) in RUDE.items()},
        }
        port = sidecar.announcement.http
        assert httpx.get(f"http://127.0.0.1:{port}/readyz", trust_env=False).status_code == 200
        # Ends by SIGTERM, which one of the modules wanted to ignore.
        sidecar.stop()

    lines = (tmp_path / "sidecar.log").read_text().splitlines()
    told = [json.loads(line) for line in lines if line.startswith("{")]
    assert {line["module"] for line in told if line["event"] == "module left out"} == BAD.keys()
    assert {line["module"] for line in told if line["event"] == "module misbehaved"} == {
        f"{name}.py" for name in RUDE
    }


@pytest.fixture
def hanging(folder):
    """A module in that folder whose import hangs until the test is over."""
    threading.gate = threading.Event()
    write(folder, "hangs.py", HANGING + good("hangs.procedure"))
    yield folder
    threading.gate.set()
    wait_until(lambda: not any(each.name == "sidecypher-import" for each in threading.enumerate()))
    del threading.gate


@pytest.mark.slow
def test_an_import_that_hangs_keeps_no_other_from_being_called(
    server, session, hanging, monkeypatch, capfd
):
    """A sidecar starts without the module, and shows how long it has waited for it."""
    monkeypatch.setattr("sidecypher.app.load", partial(load, seconds=3))
    with server.sidecar_down():
        flags = {"home": server.home, "procedures": [PROCEDURES, hanging]}
        sidecar = Sidecar(load_settings(flags, {}))
        sidecar.start()
        try:
            assert session.run("CALL test.echo('works')").single()["value"] == "works"
            row = session.run("CALL sidecypher.call('fine.procedure') YIELD row").single()
            assert row["row"] == {"value": "answered by fine"}
            assert problems(session)["hangs.py"] == "its import did not end within 3 s"
        finally:
            sidecar.stop()
