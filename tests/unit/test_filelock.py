"""Whether a lock between processes is held."""

import fcntl
import math
import threading

import pytest

from sidecypher.host.locks import file_lock, is_locked


def test_a_lock_is_seen_while_it_is_held(tmp_path):
    """The file stays when its holder goes, and means nothing without one."""
    path = tmp_path / "lock"
    assert not is_locked(path)

    with file_lock(path, seconds=0):
        assert is_locked(path)

    assert path.exists()
    assert not is_locked(path)


def test_a_lock_that_is_held_is_given_up_in_time(tmp_path):
    """Who waits for a holder that does not go gets an error after its seconds."""
    path = tmp_path / "lock"

    with (
        file_lock(path, seconds=0),
        pytest.raises(BlockingIOError),
        file_lock(path, seconds=0.05),
    ):
        pytest.fail("nobody else holds it meanwhile")


def test_a_lock_is_had_as_soon_as_its_holder_goes(tmp_path):
    """Who waits has the lock when another thread leaves it."""
    path = tmp_path / "lock"
    held = file_lock(path, seconds=0)
    held.__enter__()
    threading.Timer(0.05, held.__exit__, (None, None, None)).start()

    with file_lock(path, seconds=math.inf):
        assert is_locked(path)


def test_who_asks_is_not_taken_for_a_holder(tmp_path):
    """Two that ask at the same time about a dead process hear both that it is dead."""
    path = tmp_path / "lock"
    path.touch()

    with path.open() as other:
        fcntl.flock(other, fcntl.LOCK_SH)
        assert not is_locked(path)
