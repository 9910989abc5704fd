"""`sidecar.json`: written whole by the sidecars of a run folder, read by whoever looks for them."""

import json
import resource
import signal
import stat
import subprocess
import sys
import textwrap
import threading

import msgspec
import pytest

from sidecypher.host.credentials import run_folder_lock
from sidecypher.host.rendezvous import (
    FILE,
    Announcement,
    Membership,
    Rendezvous,
    read_rendezvous,
    running_sidecars,
)

FINGERPRINT = "ab" * 32


def announcement(generation="g1", pid=4711):
    return Announcement(
        generation=generation,
        pid=pid,
        host="127.0.0.1",
        port=40001,
        http=40002,
        procedures=3,
        left_out={"bad.py": "syntax error in line 1"},
    )


def join(folder, generation="g1", fingerprint=FINGERPRINT):
    return Membership(folder, fingerprint, announcement(generation))


def generations(folder):
    return [each.generation for each in read_rendezvous(folder).sidecars]


def killed(folder, generation):
    """Let a process join that cannot leave any more."""
    code = f"""
        import os, pathlib
        from sidecypher.host.rendezvous import Announcement, Membership
        own = Announcement({generation!r}, os.getpid(), "127.0.0.1", 1, 2, 3, {{}})
        membership = Membership(pathlib.Path({str(folder)!r}), {FINGERPRINT!r}, own)
        os._exit(0)
        """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)


def test_what_was_written_is_read(tmp_path):
    """A rendezvous comes back equal, from a file that its owner alone can read."""
    membership = join(tmp_path)

    assert read_rendezvous(tmp_path) == Rendezvous(FINGERPRINT, [announcement()])
    assert running_sidecars(tmp_path) == [announcement()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}
    membership.leave()


def test_the_file_has_the_agreed_shape(tmp_path):
    """The JVM finds the names it was promised."""
    membership = join(tmp_path)

    assert json.loads((tmp_path / FILE).read_bytes()) == {
        "v": 2,
        "fingerprint": "ab" * 32,
        "sidecars": [
            {
                "generation": "g1",
                "pid": 4711,
                "host": "127.0.0.1",
                "port": 40001,
                "http": 40002,
                "procedures": 3,
                "left_out": {"bad.py": "syntax error in line 1"},
                "socket": "",
            }
        ],
    }
    membership.leave()


def test_sidecars_come_and_go_beside_each_other(tmp_path):
    """Each sidecar adds and removes itself alone; the last one takes the file away."""
    first, second, third = (join(tmp_path, name) for name in ("g1", "g2", "g3"))

    assert generations(tmp_path) == ["g1", "g2", "g3"]
    second.leave()
    assert generations(tmp_path) == ["g1", "g3"]
    first.leave()
    third.leave()
    assert [path.name for path in tmp_path.iterdir()] == ["sidecars.lock"]


def test_a_sidecar_may_leave_twice(tmp_path):
    """What is gone already is not missed, and nobody else's entry is touched."""
    membership = join(tmp_path)
    membership.leave()
    other = join(tmp_path, "g2")

    membership.leave()

    assert generations(tmp_path) == ["g2"]
    other.leave()


def test_many_sidecars_may_come_at_once(tmp_path):
    """No entry is lost when sidecars write at the same time."""
    names = [f"g{number}" for number in range(16)]
    joined = []
    threads = [
        threading.Thread(target=lambda name=name: joined.append(join(tmp_path, name)))
        for name in names
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(generations(tmp_path)) == sorted(names)
    for membership in joined:
        membership.leave()


def test_a_killed_sidecar_does_not_count_and_is_dropped_by_the_next(tmp_path):
    """An entry whose process is gone is known to be dead, and the next change drops it."""
    first = join(tmp_path)
    killed(tmp_path, "killed")

    assert generations(tmp_path) == ["g1", "killed"]
    assert running_sidecars(tmp_path) == [announcement()]
    second = join(tmp_path, "g2")
    assert generations(tmp_path) == ["g1", "g2"]
    killed(tmp_path, "killed too")
    first.leave()
    assert generations(tmp_path) == ["g2"]
    second.leave()
    assert [path.name for path in tmp_path.iterdir()] == ["sidecars.lock"]


def test_a_new_certificate_leaves_no_old_sidecars(tmp_path):
    """Sidecars with another certificate than the newest one's are dropped."""
    old = join(tmp_path)

    new = join(tmp_path, "g2", "cd" * 32)

    assert read_rendezvous(tmp_path) == Rendezvous("cd" * 32, [announcement("g2")])
    old.leave()
    assert generations(tmp_path) == ["g2"]
    new.leave()


def test_a_sidecar_leaves_a_run_folder_that_is_held(tmp_path):
    """A frozen sidecar that holds the lock keeps no other one from its end."""
    membership = join(tmp_path)

    with run_folder_lock(tmp_path):
        membership.leave()

    assert running_sidecars(tmp_path) == []


@pytest.fixture
def full_disk(monkeypatch):
    """From now on no file of this process can grow, as on a full disk."""
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill():
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))

    yield fill
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    signal.signal(signal.SIGXFSZ, handler)


def test_a_sidecar_leaves_and_changes_on_a_full_disk(tmp_path, full_disk):
    """Neither fails; one that left no longer runs for those who look, whatever the file says."""
    first, second = join(tmp_path), join(tmp_path, "g2")
    full_disk()

    second.renew(msgspec.structs.replace(announcement("g2"), procedures=9))
    first.leave()

    assert [each.generation for each in running_sidecars(tmp_path)] == ["g2"]
    second.leave()
    assert running_sidecars(tmp_path) == []


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff",
        b'{"v":2}',
        b'{"v":1,"fingerprint":"ab","sidecars":[]}',
        b'{"v":2,"fingerprint":"\xff","sidecars":[]}',
        b'{"v":2,"fingerprint":"ab","sidecars":[{"pid":"x"}]}',
        b"[" * 100_000,
    ],
    ids=lambda content: repr(content[:40]),
)
def test_a_file_that_is_no_rendezvous_is_none_and_replaced(tmp_path, content):
    """Half a file, an old one, or somebody else's counts as no sidecar."""
    (tmp_path / FILE).write_bytes(content)

    assert read_rendezvous(tmp_path) is None
    assert running_sidecars(tmp_path) == []
    membership = join(tmp_path)
    assert generations(tmp_path) == ["g1"]
    membership.leave()


def test_a_missing_file_or_folder_is_none(tmp_path):
    """Where no sidecar has ever run there is no rendezvous."""
    assert read_rendezvous(tmp_path) is None
    assert running_sidecars(tmp_path / "nowhere") == []
