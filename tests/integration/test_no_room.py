"""Disks and networks that do not do what is asked of them: one message, and nothing half-made."""

import ctypes
import resource
import subprocess
import sys

import pytest
from fix_modules import good, write

_CAPBSET_DROP, _CAP_DAC_OVERRIDE = 24, 1
"""Of prctl(2) and capabilities(7)."""


def up(environ, *options, **more):
    return subprocess.run(
        [sys.executable, "-m", "sidecypher", "up", *options],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        **more,
    )


@pytest.fixture
def environ(tmp_path, clean_environment):
    write(tmp_path / "my", "word.py", good("kg.word"))
    return {
        **clean_environment,
        "SIDECYPHER_HOME": str(tmp_path / "home"),
        "SIDECYPHER_PROCEDURES": str(tmp_path / "my"),
    }


def _as_anybody():
    """Give up what lets root write everywhere; whoever is not root has nothing to give up."""
    ctypes.CDLL(None).prctl(_CAPBSET_DROP, _CAP_DAC_OVERRIDE)


def assert_one_error(done, *texts):
    """It has failed with an error and a hint, and no traceback."""
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert "Traceback" not in done.stderr
    lines = done.stderr.splitlines()
    assert sum(line.startswith("error: ") for line in lines) == 1
    assert sum(line.startswith("hint: ") for line in lines) == 1
    for text in texts:
        assert text in done.stderr


def test_a_home_that_cannot_be_written_is_told(tmp_path, environ, installation):
    """A home that can be no folder is named, and the way out."""
    (tmp_path / "file").write_text("")

    done = up({**environ, "SIDECYPHER_HOME": str(tmp_path / "file/home")})

    assert_one_error(done, "[SC-614]", "`sidecypher config` lists all paths")
    assert str(tmp_path) not in done.stderr


@pytest.mark.slow
def test_a_home_of_another_is_told(tmp_path, environ, installation):
    """A folder without the right to write is named, and the way out."""
    (tmp_path / "theirs").mkdir(mode=0o500)

    done = up({**environ, "SIDECYPHER_HOME": str(tmp_path / "theirs/home")}, preexec_fn=_as_anybody)

    assert_one_error(done, "Permission denied [SC-614]", "Change its permissions")


@pytest.mark.slow
def test_a_full_disk_is_told_and_no_plugin_is_left(tmp_path, environ, installation):
    """When the plugin has no room, the folder of plugins is as it was."""
    # A limit of this process's files is what a test can have of a full disk.
    limit = 20_000
    done = up(
        environ,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )

    assert_one_error(done, "File too large [SC-614]", "Free space on that disk")
    assert list((tmp_path / "home/neo4j/plugins").iterdir()) == []


@pytest.mark.slow
def test_without_a_network_it_says_what_to_check(tmp_path, environ):
    """A mirror that nobody listens at is told by its host, and no jar has its name."""
    done = up(
        {
            **environ,
            "SIDECYPHER_MAVEN_URL": "http://127.0.0.1:9/",
            "SIDECYPHER_CACHE_DIR": str(tmp_path / "cache"),
        }
    )

    assert_one_error(done, "cannot be fetched from 127.0.0.1", "Check the network and the mirror")
    assert list((tmp_path / "cache").rglob("*.jar")) == []
    assert not (tmp_path / "home/neo4j").exists()
