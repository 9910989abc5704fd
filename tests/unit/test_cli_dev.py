"""What `dev` starts, stops and says, with stand-ins for Neo4j and its sidecars."""

import os
import resource

import pytest
from fix_modules import good, write

from sidecypher.cli import debug, dev
from sidecypher.cli.demo import command as demo
from sidecypher.cli.demo.source import Source
from sidecypher.cli.errors import StorageFailed
from sidecypher.errors import ReloadFailed
from sidecypher.host.address import Address
from sidecypher.host.settings import load_settings
from sidecypher.runtime.errors import ServerFailed

OFFERED = "Neo4j offers the changes."
CHANGE = {"name": "kg.word", "state": "signature changed", "detail": "", "module": "word.py"}


class Server:
    """What `dev` asks for, counted; each thing can be made to fail."""

    def __init__(self, monkeypatch):
        self.restarts, self.stopped, self.fits = 0, 0, True
        self.is_broken, self.is_away, self.changes = False, False, []
        monkeypatch.setattr(dev, "reload_all", self.reload)
        monkeypatch.setattr(dev, "install_plugin", self.install)
        monkeypatch.setattr(dev, "restart_process", self.restart)
        for module in (dev, demo):
            monkeypatch.setattr(module, "stop", self.stop)

    def reload(self, _settings):
        if self.is_away:
            raise ReloadFailed("The sidecar is away")
        told, self.changes = self.changes, []
        return told

    def install(self, *_, **__):
        built, self.fits = not self.fits, True
        return built

    def restart(self, *_):
        if self.is_broken:
            raise ServerFailed("`neo4j` did not come back")
        self.restarts += 1

    def stop(self, _home):
        self.stopped += 1


@pytest.fixture
def server(monkeypatch):
    return Server(monkeypatch)


@pytest.fixture
def session(tmp_path):
    write(tmp_path, "my/word.py", good("kg.word"))
    settings = load_settings({"home": tmp_path / "home", "procedures": [tmp_path / "my"]}, {})
    return dev._Session(settings, is_ours=True, check=False)


def test_a_restart_that_failed_is_made_up_for_at_the_next_save(server, session, capsys):
    """Neo4j offers what has changed only once it has started with the new plugin."""
    server.fits, server.is_broken, server.changes = False, True, [CHANGE]
    session.load("word.py")

    assert OFFERED not in capsys.readouterr().out

    server.is_broken = False
    session.load("word.py")

    assert server.restarts == 1
    assert OFFERED in capsys.readouterr().out


def test_a_signature_saved_while_the_sidecar_is_away_is_offered(server, session, capsys):
    """The sidecar that comes back has loaded it and tells no change; the plugin knows better."""
    server.fits, server.is_away = False, True
    session.load("word.py")

    assert server.restarts == 1
    assert OFFERED in capsys.readouterr().out


def test_a_body_needs_no_restart(server, session):
    """What Neo4j sees of a procedure is its signature."""
    server.changes = [CHANGE | {"state": "changed"}]
    session.load("word.py")

    assert server.restarts == 0


@pytest.fixture
def project(tmp_path, monkeypatch):
    write(tmp_path, "my/word.py", good("kg.word"))
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("project")
def test_dev_stops_only_what_it_has_started(server, run, monkeypatch):
    """What somebody else has brought up meanwhile stays; Ctrl-C ends what `dev` has started."""

    def interrupted(_folders):
        raise KeyboardInterrupt

    monkeypatch.setattr(dev, "_saves", interrupted)
    for is_ours in (False, True):
        monkeypatch.setattr(dev, "bring_up", lambda *_, is_ours=is_ours, **__: is_ours)
        code, _, err = run("dev", "--procedures", "my")

        assert code == 0
        assert server.stopped == is_ours
        assert ("Stopping" in err) == is_ours


@pytest.mark.usefixtures("project")
def test_dev_that_cannot_start_tells_that_alone(server, run, monkeypatch):
    """Nothing was started, so nothing is stopped, and no next command is named."""

    def fail(*_, **__):
        raise ServerFailed("The supervisor ended")

    monkeypatch.setattr(dev, "bring_up", fail)
    code, out, err = run("dev", "--procedures", "my")

    assert (code, out, server.stopped) == (1, "", 0)
    assert err.startswith("error: The supervisor ended")


def test_the_demo_leaves_what_somebody_else_has_started(server, run, monkeypatch):
    """It wants a home of its own, and says so also where one came up while it began."""
    monkeypatch.setattr(demo, "bring_up", lambda *_, **__: False)
    monkeypatch.setattr(demo, "choose_source", lambda: Source("Samples", {}, {}))
    code, _, err = run("demo")

    assert (code, server.stopped) == (1, 0)
    assert "needs a home where nothing is running" in err


def test_the_demo_writes_to_the_neo4j_that_it_started(server, run, monkeypatch, home):
    """Another one that `SIDECYPHER_NEO4J_URI` names gets no sample graph."""

    def bring_up(*_, **__):
        home.mkdir()
        (home / "ports.json").write_text('{"bolt": 7001, "http": 7002}')
        (home / "neo4j-password").write_text("secret")
        return True

    asked = []

    def driver(address, **_):
        asked.append(address.uri)
        raise ServerFailed("Far enough")

    monkeypatch.setattr(demo, "bring_up", bring_up)
    monkeypatch.setattr(demo, "choose_source", lambda: Source("Samples", {}, {}))
    monkeypatch.setattr(Address, "driver", driver)
    run("demo", SIDECYPHER_NEO4J_URI="bolt://elsewhere:7687")

    assert asked == ["bolt://127.0.0.1:7001"]
    assert server.stopped == 1


@pytest.mark.usefixtures("project")
def test_without_debugpy_nothing_is_started(server, run, monkeypatch):
    """`--debug` needs it, and the error says what to install."""
    monkeypatch.setattr(debug.importlib.util, "find_spec", lambda _name: None)
    monkeypatch.setattr(dev, "bring_up", lambda *_, **__: pytest.fail("it was started"))

    code, _, err = run("dev", "--procedures", "my", "--debug")

    assert (code, server.stopped) == (1, 0)
    assert "debugpy is not installed" in err
    assert "pip install debugpy" in err
    assert "[SC-617]" in err


@pytest.mark.usefixtures("project")
def test_a_home_that_is_up_gets_no_debugger(server, run, monkeypatch):
    """Its sidecar was started without one, so `--debug` is refused, and it goes on."""
    monkeypatch.setattr(dev, "bring_up", lambda *_, **__: False)

    code, _, err = run("dev", "--procedures", "my", "--debug")

    assert (code, server.stopped) == (1, 0)
    assert "no debugger can be started" in err
    assert "sidecypher down" in err


def test_folders_that_cannot_be_watched_are_told(tmp_path):
    """A system that has nothing left to watch with is told with the limits to raise."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    first_free = os.dup(0)
    os.close(first_free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (first_free, hard))
    try:
        with pytest.raises(StorageFailed, match="cannot be watched") as failed:
            next(dev._saves((tmp_path,)))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    assert "max_user_watches" in failed.value.hint
