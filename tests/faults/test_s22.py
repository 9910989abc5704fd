"""S22: files in the current folder that are named like modules."""

import subprocess

import pytest

from sidecypher.cli import supervise, up
from sidecypher.host.settings import load_settings
from sidecypher.loading.loader import load
from sidecypher.testing import pytest_plugin


@pytest.fixture
def folder(tmp_path):
    """A folder where somebody has put files that any Python would import first."""
    for name in ("secrets", "typer", "neo4j", "psutil"):
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('{name} of the current folder')\n")
    return tmp_path


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """The command lines of all processes of an installation, and that of the pytest plugin."""
    found = {}
    settings = load_settings({"home": tmp_path / "home"}, {})
    monkeypatch.setattr(up, "install_plugin", lambda *_, **__: False)
    monkeypatch.setattr(up, "load_procedures", lambda _: load([]))
    monkeypatch.setattr(
        up, "launch_supervisor", lambda _home, argv, _env: found.update(supervisor=argv)
    )
    up.bring_up(settings)
    found["sidecar"] = supervise._sidecar(settings, 0).argv
    found["replay"] = supervise._replay(settings, 1).argv
    with monkeypatch.context() as patch:
        patch.setattr(pytest_plugin.subprocess, "run", lambda argv, **_: found.update(plugin=argv))
        pytest_plugin._command({}, "up")
    return found


@pytest.mark.parametrize("name", ["supervisor", "sidecar", "replay", "plugin"])
def test_a_file_of_the_current_folder_is_not_run(name, folder, commands, clean_environment):
    """Each process that is started takes its modules from the installation alone."""
    done = subprocess.run(
        [*commands[name], "--help"],
        cwd=folder,
        env=clean_environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
