"""`sidecar.json`: written whole, read by whoever looks for the sidecar, removed by its writer."""

import json
import os
import stat

import pytest

from sidecypher.rendezvous import FILE, Endpoint, Rendezvous, read_rendezvous, remove_rendezvous


def rendezvous(generation="g1", pid=None):
    return Rendezvous(
        v=1,
        generation=generation,
        pid=os.getpid() if pid is None else pid,
        endpoints=[Endpoint("127.0.0.1", 40001)],
        fingerprint="ab" * 32,
        http=40002,
        procedures=3,
        left_out={"bad.py": "syntax error in line 1"},
    )


def test_what_was_written_is_read(tmp_path):
    """A rendezvous comes back equal, from a private file that is alone in its folder."""
    written = rendezvous()

    written.write(tmp_path)

    assert read_rendezvous(tmp_path) == written
    assert [path.name for path in tmp_path.iterdir()] == [FILE]
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600


def test_the_file_has_the_agreed_shape(tmp_path):
    """The JVM finds the names it was promised."""
    rendezvous(pid=123).write(tmp_path)

    assert json.loads((tmp_path / FILE).read_bytes()) == {
        "v": 1,
        "generation": "g1",
        "pid": 123,
        "endpoints": [{"host": "127.0.0.1", "port": 40001}],
        "fingerprint": "ab" * 32,
        "http": 40002,
        "procedures": 3,
        "left_out": {"bad.py": "syntax error in line 1"},
    }


def test_a_later_sidecar_replaces_the_file(tmp_path):
    """The file is that of the sidecar which wrote last."""
    rendezvous("g1").write(tmp_path)
    rendezvous("g2").write(tmp_path)

    assert read_rendezvous(tmp_path).generation == "g2"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff",
        b'{"v":1}',
        b'{"v":1,"generation":"\xff"}',
        b'{"v":1,"generation":"g","pid":"x"}',
        b"[" * 100_000,
    ],
    ids=lambda content: repr(content[:40]),
)
def test_a_file_that_is_no_rendezvous_is_none(tmp_path, content):
    """Half a file, or somebody else's, counts as no sidecar."""
    (tmp_path / FILE).write_bytes(content)

    assert read_rendezvous(tmp_path) is None


def test_a_missing_file_or_folder_is_none(tmp_path):
    """Where no sidecar has ever run there is no rendezvous."""
    assert read_rendezvous(tmp_path) is None
    assert read_rendezvous(tmp_path / "nowhere") is None


def test_a_sidecar_removes_its_own_file(tmp_path):
    """At its end a sidecar takes its rendezvous away, and may do so twice."""
    rendezvous("g1").write(tmp_path)

    remove_rendezvous(tmp_path, "g1")
    remove_rendezvous(tmp_path, "g1")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("other", [rendezvous("g2"), rendezvous("g1", pid=1)])
def test_a_sidecar_leaves_the_file_of_another(tmp_path, other):
    """The file of another generation or process stays."""
    other.write(tmp_path)

    remove_rendezvous(tmp_path, "g1")

    assert read_rendezvous(tmp_path) == other
