"""Which tests stay together when two workers share them: those that share a server."""

import pytest

_SERVERS = ("server", "current_server")


def pytest_itemcollected(item):
    """Give one worker all tests of a shared server, and else the tests of a file."""
    file = item.path.relative_to(item.config.rootpath).as_posix()
    group = next((name for name in _SERVERS if name in item.fixturenames), file)
    item.add_marker(pytest.mark.xdist_group(group))
