"""The archive of Neo4j's classes, which the first start writes and later ones use."""

import pytest

from sidecypher.runtime.class_archive import write_class_archive
from sidecypher.runtime.errors import ServerFailed
from sidecypher.runtime.installation import Installation
from sidecypher.runtime.java import Java


@pytest.fixture
def cache(installation, tmp_path):
    """A cache that has the jars, and no archive."""
    folder = tmp_path / "cache"
    folder.mkdir()
    (folder / "jars").symlink_to(installation.jar_folder)
    return folder


def names(cache):
    """Return what is in a cache, without the lock, which stays and has no meaning."""
    return [each.name for each in cache.iterdir() if each.suffix != ".lock"]


def test_a_server_starts_from_the_archive(server, installation, java):
    """Neo4j's JVM has mapped the archive, so it fits the class path of a home."""
    archive = installation.class_archive(java)

    mapped = {each.path for each in server.process("neo4j").memory_maps()}

    assert str(archive) in mapped
    assert archive.stat().st_size > 50_000_000


def test_a_java_that_does_not_start_leaves_no_half_of_an_archive(installation, cache, tmp_path):
    """The error is that of the server, and the cache has neither archive nor draft."""
    broken = Java(tmp_path / "java", 17)
    broken.executable.parent.mkdir(parents=True)
    broken.executable.write_text("#!/bin/sh\nexit 1\n")
    broken.executable.chmod(0o755)

    with pytest.raises(ServerFailed):
        write_class_archive(Installation(installation.lock, cache), broken)

    assert names(cache) == ["jars"]


@pytest.mark.deep
def test_statements_that_fail_leave_no_archive(installation, java, cache, monkeypatch):
    """An archive without the planner's classes would never be written again, so there is none."""
    monkeypatch.setattr("sidecypher.runtime.class_archive._STATEMENTS", "RETURN missing")

    with pytest.raises(ServerFailed):
        write_class_archive(Installation(installation.lock, cache), java)

    assert names(cache) == ["jars"]
