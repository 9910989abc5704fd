"""What is made ready before Neo4j starts."""

import os
import stat

import pytest

from sidecypher.cli import prepare
from sidecypher.host.settings import load_settings
from sidecypher.loading.loader import load


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

    monkeypatch.setattr(prepare, "find_jdk", lambda _: None)
    monkeypatch.setattr(prepare, "fetch_jars", lambda _: None)
    monkeypatch.setattr(prepare, "build_plugin", build)
    settings = load_settings({"home": tmp_path / "home"}, {})

    assert prepare.install_plugin(settings, load([]), check=True)

    assert modes == [0o700] * 3
