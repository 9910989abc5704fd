"""Tasks in a process that is not the sidecar end when their own call is interrupted."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from fix_describe import describe
from fix_waiting import wait_until

from sidecypher import Row
from sidecypher.calls.executors.pool_messages import Task
from sidecypher.calls.executors.task_runner import TaskRunner
from sidecypher.protocol import envelope
from sidecypher.sdk.registry import Registry

LONG = "x" * 100_000
"""The first 16 fill a page."""

SECONDS = 30.0


class Text(Row):
    value: str


class Process:
    """A runner whose function makes 40 long rows, and what it has sent.

    Attributes:
        on_row: Called in the function before each row.
        on_page: Called before each page is sent.
    """

    def __init__(self) -> None:
        self.on_row: Callable[[], object] = bool
        self.on_page: Callable[[], object] = bool
        self.made = self.sent = 0
        self.code: str | None = None
        registry = Registry([describe(self._make(), "test.make", executor="ray")])
        self._signature = registry.get("test.make", "procedure").entry.signature
        self.runner = TaskRunner(registry, 64 * 1024 * 1024, self)

    def run(self, call_id):
        task = Task(call_id, "procedure", "test.make", self._signature, [], "", "", SECONDS, "")
        self.runner.run(envelope.write(task))

    def _make(self):
        def make() -> Iterator[Text]:
            """Make rows."""
            for _ in range(40):
                self.on_row()
                self.made += 1
                yield Text(value=LONG)

        return make

    def watch(self, _call_id, _pages):
        """Let the runner itself send all pages."""

    def send_rows(self, _call_id, pages, *, more, cache=None):
        self.on_page()
        self.sent += sum(each.count for each in pages.take())

    def answer(self, outcome):
        self.code = outcome.error.code


@pytest.fixture
def process():
    return Process()


def test_an_interrupt_that_comes_late_is_not_for_the_next_task(process):
    """What is sent to a task that has ended does nothing to the one that runs then."""
    process.run("1")
    process.on_row = lambda: process.runner.interrupt("1")

    process.run("2")

    assert (process.code, process.sent) == (None, 80)


def test_a_task_that_was_interrupted_early_does_not_begin(process):
    """What is sent to a task that has not begun yet waits for it, and for no other."""
    process.runner.interrupt("1")

    process.run("1")
    assert (process.code, process.made) == ("SC-207", 0)

    process.code = None
    process.run("2")
    assert (process.code, process.sent) == (None, 40)


def test_a_task_is_interrupted_in_its_function(process):
    """A function that runs gets an exception."""
    is_there, has_ended = threading.Event(), threading.Event()

    def wait():
        is_there.set()
        wait_until(has_ended.is_set, SECONDS)

    process.on_row = wait
    with ThreadPoolExecutor() as pool:
        running = pool.submit(process.run, "1")
        assert is_there.wait(SECONDS)
        process.runner.interrupt("1")
        running.result(SECONDS)

    assert (process.code, process.made) == ("SC-207", 0)


def test_a_task_is_interrupted_between_two_pages(process):
    """A function that does not run while a page is sent does not run again afterwards."""
    process.on_page = lambda: process.runner.interrupt("1")

    process.run("1")

    assert (process.code, process.made) == ("SC-207", 16)
