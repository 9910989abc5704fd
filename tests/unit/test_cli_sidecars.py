"""Which sidecars commands ask, and what they say when one gives no answer."""

import os

import psutil
import pytest

from sidecypher.cli.reload import reload_all
from sidecypher.cli.sidecars import is_ready, run_folder_of
from sidecypher.errors import ReloadFailed
from sidecypher.rendezvous import Announcement, Membership
from sidecypher.runtime import State
from sidecypher.runtime.process.state import write_state
from sidecypher.settings import load_settings

# Nothing listens on port 1.
SIDECAR = Announcement("5f0c", os.getpid(), "127.0.0.1", 1, 1, 3, {})


@pytest.fixture
def settings(home, tmp_path):
    (home / "run").mkdir(parents=True)
    return load_settings({"home": home, "run_dir": tmp_path / "run"}, {})


def supervised(home, pid):
    started = psutil.Process().create_time()
    write_state(home, State(pid=pid, create_time=started, status="ready"))


def test_the_sidecars_of_up_are_in_the_home(settings, home):
    """They meet the plugin there, whatever folder is set for one that `serve` runs."""
    supervised(home, os.getpid())

    assert run_folder_of(settings) == home / "run"


@pytest.mark.parametrize("was_up", [False, True])
def test_a_sidecar_of_serve_is_where_it_was_told(settings, home, tmp_path, was_up):
    """Where no supervisor runs, the run folder is the one that is set."""
    if was_up:
        supervised(home, -1)

    assert run_folder_of(settings) == tmp_path / "run"


@pytest.fixture
def sidecar(settings):
    """A sidecar that is announced, and does not answer."""
    folder = settings.run_folder
    folder.mkdir()
    member = Membership(folder, "ab" * 32, SIDECAR)
    yield SIDECAR
    member.leave()


@pytest.mark.usefixtures("sidecar", "socket_enabled")
@pytest.mark.parametrize("token", [None, "secret-token"])
def test_a_sidecar_that_cannot_be_asked_to_reload_is_told(settings, token):
    """The token may be gone, or nobody listens: it is one message either way."""
    if token is not None:
        (settings.run_folder / "http-token").write_text(token)

    with pytest.raises(ReloadFailed, match=f"process {os.getpid()} did not load") as caught:
        reload_all(settings)

    assert "secret-token" not in str(caught.value)


@pytest.mark.usefixtures("socket_enabled")
def test_a_sidecar_that_does_not_answer_is_not_ready(sidecar):
    """It is no error of the command that looks."""
    assert not is_ready(sidecar)
