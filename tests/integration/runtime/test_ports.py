import socket
from pathlib import Path

import pytest

from sidecypher.host.address import Ports, read_ports
from sidecypher.runtime.errors import PortInUse
from sidecypher.runtime.ports import choose_ports


@pytest.fixture(name="memory")
def memory_file(tmp_path):
    return tmp_path / "ports.json"


@pytest.fixture(name="taken")
def listening_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_free_ports_stay_from_start_to_start(memory):
    """Ports that were chosen once are chosen again while they are free."""
    first = choose_ports(memory)

    assert first.bolt != first.http
    assert read_ports(memory) == first
    assert choose_ports(memory) == first


def test_a_free_port_is_none_that_outgoing_connections_get(memory):
    """No client of anything has it when the server is about to listen, or while it is down."""
    first, _ = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())

    found = choose_ports(memory)

    assert 1024 < found.bolt < first
    assert 1024 < found.http < first


def test_without_such_a_port_any_free_one_is_taken(memory, monkeypatch, taken):
    """A machine where all of them are taken is not a reason not to start."""
    monkeypatch.setattr("sidecypher.runtime.ports._PREFERRED", range(taken, taken + 1))

    found = choose_ports(memory)

    assert taken not in {found.bolt, found.http, 0}


def test_a_remembered_port_that_was_taken_is_replaced(memory):
    """When another program took a remembered port, a free one is chosen and the other stays."""
    first = choose_ports(memory)
    with socket.socket() as other:
        other.bind(("127.0.0.1", first.bolt))
        other.listen()

        second = choose_ports(memory)

    assert second.bolt != first.bolt
    assert second.http == first.http


def test_a_port_that_was_asked_for_is_taken_or_refused(memory, taken):
    """A named port that has a listener is an error that names port and use, never replaced."""
    with pytest.raises(PortInUse, match=f"Port {taken} for HTTP") as refused:
        choose_ports(memory, http=taken)

    assert refused.value.details == {"port": taken, "for": "HTTP"}
    assert not memory.exists()


def test_one_port_cannot_be_asked_for_twice(memory):
    """Bolt and HTTP cannot share a port."""
    port = choose_ports(memory).bolt

    with pytest.raises(PortInUse, match="for HTTP"):
        choose_ports(memory, bolt=port, http=port)


def test_a_garbled_memory_is_forgotten(memory):
    """A memory file that cannot be read is replaced, not an error."""
    memory.write_text("{")

    assert read_ports(memory) == Ports(0, 0)
    assert choose_ports(memory) == choose_ports(memory)
