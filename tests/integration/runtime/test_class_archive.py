"""The archive of Neo4j's classes, which the first start writes and later ones use."""

import pytest

from sidecypher.runtime.class_archive import write_class_archive
from sidecypher.runtime.errors import ServerFailed
from sidecypher.runtime.installation import Installation
from sidecypher.runtime.java import Java


def test_a_server_starts_from_the_archive(server, installation, java):
    """Neo4j's JVM has mapped the archive, so it fits the class path of a home."""
    archive = installation.class_archive(java)

    mapped = {each.path for each in server.process("neo4j").memory_maps()}

    assert str(archive) in mapped
    assert archive.stat().st_size > 50_000_000


def test_a_java_that_does_not_start_leaves_no_half_of_an_archive(installation, tmp_path):
    """The error is that of the server, and the cache has neither archive nor draft."""
    broken = Java(tmp_path / "java", 17)
    broken.executable.parent.mkdir(parents=True)
    broken.executable.write_text("#!/bin/sh\nexit 1\n")
    broken.executable.chmod(0o755)
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "jars").symlink_to(installation.jar_folder)

    with pytest.raises(ServerFailed):
        write_class_archive(Installation(installation.lock, cache), broken)

    assert [each.name for each in cache.iterdir() if each.suffix != ".lock"] == ["jars"]
