"""Unit tests use no sockets but those an event loop wakes itself with."""

import pytest
import pytest_socket


@pytest.fixture(autouse=True)
def no_sockets():
    """Refuse every socket that could leave the process."""
    pytest_socket.disable_socket(allow_unix_socket=True)
    yield
    pytest_socket.enable_socket()
