"""Which tests stay together when several workers share them, and which come first."""

import pytest

_SERVERS = ("server", "current_server")
_LONGEST = ("integration", "faults", "schema", "runs", "session", "rules")
"""Folders by how long the tests take that share a server."""


def pytest_itemcollected(item):
    """Give one worker the tests of a file, and all that share the server few tests need."""
    file = item.path.relative_to(item.config.rootpath).as_posix()
    server = _server_of(item)
    # The other server each worker starts anyway.
    item.add_marker(pytest.mark.xdist_group(server if server == "current_server" else file))


def pytest_collection_modifyitems(items):
    """Begin with what takes long, so that no worker is busy with it when the others have ended."""
    items.sort(key=lambda item: (_server_of(item) is None, _place(item.path.parent.name)))


def _place(folder):
    return _LONGEST.index(folder) if folder in _LONGEST else len(_LONGEST)


def _server_of(item):
    return next((name for name in _SERVERS if name in item.fixturenames), None)
