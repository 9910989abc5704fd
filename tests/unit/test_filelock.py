"""Whether a lock between processes is held."""

import fcntl

from sidecypher.filelock import file_lock, is_locked


def test_a_lock_is_seen_while_it_is_held(tmp_path):
    """The file stays when its holder goes, and means nothing without one."""
    path = tmp_path / "lock"
    assert not is_locked(path)

    with file_lock(path, wait=False):
        assert is_locked(path)

    assert path.exists()
    assert not is_locked(path)


def test_who_asks_is_not_taken_for_a_holder(tmp_path):
    """Two that ask at the same time about a dead process hear both that it is dead."""
    path = tmp_path / "lock"
    path.touch()

    with path.open() as other:
        fcntl.flock(other, fcntl.LOCK_SH)
        assert not is_locked(path)
