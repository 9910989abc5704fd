"""The process of a Ray cluster that runs the procedures, without the cluster."""

import os
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from fix_describe import describe

from sidecypher import Row
from sidecypher.calls.executors.pool_messages import MEMORY_EXIT, Outcome, Setup, Task
from sidecypher.calls.executors.ray import node
from sidecypher.protocol import envelope
from sidecypher.sdk.registry import Registry


class Number(Row):
    value: int


def fill() -> Iterator[Number]:
    """Need more memory than there is."""
    yield Number(value=1)
    raise MemoryError


@pytest.fixture
def made(monkeypatch):
    """A node, and the codes with which its process would have ended."""
    registry = Registry([describe(fill, "test.fill", executor="ray")])
    codes = []
    monkeypatch.setattr(
        node, "load", lambda *_, **__: SimpleNamespace(registry=registry, failures=[])
    )
    monkeypatch.setattr(node, "configure_logging", lambda *_: None)
    monkeypatch.setattr(node, "_limit_memory", lambda _: None)
    monkeypatch.setattr(os, "_exit", codes.append)
    setup = Setup([], None, 512, 1024 * 1024, "INFO", "json", traces=False)
    return node.Node(setup), registry, codes


@pytest.mark.parametrize("is_cancelled", [False, True])
def test_a_process_whose_memory_was_used_up_ends(made, is_cancelled):
    """It runs no other call, even if the one that used it up is cancelled then."""
    served, registry, codes = made
    signature = registry.get("test.fill", "procedure").entry.signature
    task = Task("1", "procedure", "test.fill", signature, [], "", "", 60.0, "")
    outcomes = served.stream(envelope.write(task), None)
    while (outcome := envelope.read(next(outcomes), Outcome)).more:
        pass
    assert outcome.error.code == "SC-220"

    outcomes.close() if is_cancelled else list(outcomes)

    assert codes == [MEMORY_EXIT]
