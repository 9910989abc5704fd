"""The sidecar tells about itself, and loads its procedures anew while calls run."""

import contextlib
import math
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from fix_modules import good, write
from fix_waiting import threads_in, wait_until

from sidecypher.calls.dispatcher import Dispatcher
from sidecypher.calls.executors._pages import Pages
from sidecypher.calls.executors.loop import EventLoop
from sidecypher.host.limits import Limits
from sidecypher.loading.loader import load
from sidecypher.operations.control import Inspector
from sidecypher.sdk.interruption import CallInterrupted, InterruptibleSection
from sidecypher.sdk.resources import Resources
from sidecypher.telemetry.calls import Telemetry, configure_logging
from sidecypher.transport.memory import Client, memory

SLOW = """
import threading
from collections.abc import Iterator
from sidecypher import Context, Row, procedure

class Text(Row):
    value: str

class Shared:
    log = threading.stop_log
    def __init__(self):
        self.word = "{word}"
    def ping(self):
        if self.word == "sick":
            raise OSError("with a secret")
    async def stop(self):
        self.log.append(self.word)

@procedure("kg.slow")
def slow(ctx: Context) -> Iterator[Text]:
    for _ in range(17):
        yield Text(value=ctx.resource(Shared).word)
    yield Text(value="{word}")
"""


DRAIN = """
Shared.drain = lambda self: self.log.drained.wait(30)
"""


class Log(list):
    """What has been stopped, and an attribute that holds up who ends."""


class Bench:
    """The parts of a sidecar, without a socket."""

    def __init__(self, folder):
        # Two threads that call all the time would print thousands of lines.
        configure_logging("WARNING", "console")
        self.folder = folder
        self.told = []
        self.resources = Resources()
        self.loop = EventLoop()
        loaded = load([folder])
        self.dispatcher = Dispatcher(
            loaded.registry, self.loop, self.resources, Telemetry(), Limits()
        )
        self.inspector = Inspector(
            self.dispatcher,
            self.loop,
            self.resources,
            folders=(folder,),
            loaded=loaded,
            checks={"fine": lambda: None, "broken": lambda: "it is broken"},
            on_reload=lambda loaded, changes: self.told.append((len(loaded.registry), changes)),
        )
        self.resources.provide(self.inspector)

    def client(self):
        signatures = {each.name: each.entry.signature for each in self.dispatcher.registry}
        return Client(memory(self.dispatcher), signatures)

    def call(self, name, *arguments):
        """The rows of a call, each by column."""
        columns = [each.name for each in self.dispatcher.registry.get(name).signature.columns]
        return [
            dict(zip(columns, row, strict=True)) for row in self.client().rows(name, *arguments)
        ]

    def write(self, file, content):
        write(self.folder, file, content)

    def reload(self):
        return {
            row["name"] or row["module"]: row["state"] for row in self.call("sidecypher.reload")
        }


@pytest.fixture
def stopped():
    """What shared objects have been stopped."""
    threading.stop_log = Log()
    yield threading.stop_log
    del threading.stop_log


@pytest.fixture
def bench(tmp_path, stopped, monkeypatch):
    # The first page has 16 rows, however busy the machine is.
    monkeypatch.setattr(
        "sidecypher.calls.executors.execution.Pages", partial(Pages, flush_seconds=math.inf)
    )
    write(tmp_path, "good.py", good("kg.good", "there"))
    write(tmp_path, "slow.py", SLOW.format(word="old"))
    write(tmp_path, "bad.py", "print('hello')\nbroken\n")
    made = Bench(tmp_path)
    yield made
    made.loop.stop([made.resources.stop])


class Users(frozenset):
    """The calls that may use a class; while somebody looks at them, another reload ends."""

    def __and__(self, running):
        self.reload()
        return frozenset(self) & frozenset(running)


def test_what_a_reload_adds_while_others_tend_is_not_lost(bench):
    """Its shared objects are stopped the next time."""
    users, later = Users(), ([int], frozenset({"a call"}))
    users.reload = lambda: later in bench.inspector._unused or bench.inspector._unused.append(later)
    bench.inspector._unused = [([str], users)]

    bench.inspector.run_housekeeping()

    assert bench.inspector._unused == [later]


def test_what_no_thread_could_stop_is_stopped_the_next_time(bench, monkeypatch):
    """An object of a replaced class is not forgotten when there is no room for a thread."""
    bench.resources.get(dict)
    bench.inspector._unused = [([dict], frozenset())]
    with monkeypatch.context() as full:
        full.setattr("threading.Thread.start", _no_room)
        with pytest.raises(RuntimeError):
            bench.inspector.run_housekeeping()

    bench.inspector.run_housekeeping()

    wait_until(lambda: dict not in bench.resources._made)


def _no_room(_thread):
    raise RuntimeError("can't start new thread")


def test_info_tells_what_answers(bench):
    """One row names version, process and what is in service."""
    [row] = bench.call("sidecypher.info")

    assert row["pid"] == os.getpid()
    assert row["procedures"] == len(bench.dispatcher.registry)
    assert row["leftOut"] == 1
    assert row["catalogue"] == bench.dispatcher.registry.catalogue.hash
    assert row["openCalls"] == 1


def test_procedures_are_listed_with_the_modules_that_failed(bench):
    """Every procedure has its signature; a module that failed has its reason, and its warnings."""
    rows = {}
    for row in bench.call("sidecypher.procedures"):
        rows.setdefault(row["name"], []).append(row)

    [found] = rows["kg.good"]
    assert (found["kind"], found["mode"], found["module"]) == ("procedure", "READ", "good.py")
    assert found["signature"] == "kg.good() :: (value :: STRING)"
    assert (found["timeout"], found["executor"], found["problem"]) == (30.0, "thread", None)
    assert {"github.getIssue", "sidecypher.call", "sidecypher.procedures"} <= rows.keys()
    assert [(row["kind"], row["problem"]) for row in rows["bad.py"]] == [
        ("module", "NameError at import in line 2 of `bad.py`"),
        ("module", "warning: it printed to standard output, which went to standard error"),
    ]


def test_health_tells_of_checks_and_of_shared_objects(bench):
    """A check and a `ping` have a row each; an exception's text is not shown."""
    bench.call("kg.slow")
    healthy = {row["check"]: (row["ok"], row["problem"]) for row in bench.call("sidecypher.health")}

    bench.write("slow.py", SLOW.format(word="sick"))
    bench.reload()
    bench.inspector.run_housekeeping()
    bench.call("kg.slow")
    sick = {row["check"]: row["problem"] for row in bench.call("sidecypher.health")}

    assert healthy == {
        "fine": (True, None),
        "broken": (False, "it is broken"),
        "Shared": (True, None),
    }
    assert sick["Shared"] == "its `ping` raised OSError"


def test_running_calls_are_shown_but_for_the_one_that_asks(bench):
    """A call with rows left is there until it is over."""
    stream = bench.client().rows("kg.slow")
    next(stream)

    [row] = bench.call("sidecypher.running")
    stream.close()

    assert (row["name"], row["rows"], row["state"], row["user"]) == (
        "kg.slow", 16, "waiting", "neo4j",
    )  # fmt: skip
    assert row["seconds"] >= 0
    assert bench.call("sidecypher.running") == []


def test_a_reload_serves_the_new_code_and_lets_the_old_one_end(bench):
    """The next call has the new body; one that is in flight keeps its own to the end."""
    stream = bench.client().rows("kg.slow")
    next(stream)

    bench.write("slow.py", SLOW.format(word="new"))
    states = bench.reload()

    assert states == {"kg.slow": "changed", "bad.py": "failed"}
    assert [row["value"] for row in bench.call("kg.slow")] == ["new"] * 18
    assert [value for [value] in stream] == ["old"] * 17


def test_shared_objects_of_replaced_classes_are_stopped_when_nobody_uses_them(bench, stopped):
    """The old object serves the calls in flight, the new one all others; then the old one stops."""
    stream = bench.client().rows("kg.slow")
    next(stream)
    bench.write("slow.py", SLOW.format(word="new"))
    bench.reload()

    bench.inspector.run_housekeeping()
    assert stopped == []

    list(stream)
    bench.inspector.run_housekeeping()
    wait_until(lambda: stopped == ["old"])
    assert [row["value"] for row in bench.call("kg.slow")] == ["new"] * 18


def test_an_object_that_takes_long_to_end_holds_up_nobody(bench, stopped):
    """Calls beyond their time, and a silent event loop, are looked for by the same thread."""
    drained = threading.stop_log.drained = threading.Event()
    bench.write("slow.py", SLOW.format(word="old") + DRAIN)
    bench.reload()
    bench.call("kg.slow")
    bench.write("slow.py", SLOW.format(word="new"))
    bench.reload()

    bench.inspector.run_housekeeping()
    assert stopped == []

    drained.set()
    wait_until(lambda: stopped == ["old"])


def test_shared_objects_of_code_that_stays_are_not_stopped(bench, stopped):
    """A reload that leaves the class as it is, or cannot replace it, leaves its object alone."""
    (bench.folder / "bad.py").unlink()
    bench.reload()
    bench.call("kg.slow")
    assert bench.reload() == {}
    bench.write("slow.py", "broken(\n")
    bench.reload()

    bench.inspector.run_housekeeping()

    assert stopped == []
    assert [row["value"] for row in bench.call("kg.slow")] == ["old"] * 18


def test_a_reload_tells_the_sidecar(bench):
    """Logs, metrics and `sidecypher status` follow."""
    before = len(bench.dispatcher.registry)
    bench.write("bad.py", good("kg.better"))

    rows = bench.call("sidecypher.reload")

    assert [row["state"] for row in rows] == ["added"]
    [(count, changes)] = bench.told
    assert (count, [each.name for each in changes]) == (before + 1, ["kg.better"])


def test_a_changed_signature_is_reached_by_name_through_call(bench):
    """The old signature is refused as a mismatch; `sidecypher.call` reaches the new one at once."""
    client = bench.client()
    bench.write("good.py", good("kg.good", "new").replace("body()", "body(value: str)"))

    assert bench.reload()["kg.good"] == "signature changed"
    with pytest.raises(Exception, match="disagree about"):
        list(client.rows("kg.good"))
    assert bench.call("sidecypher.call", "kg.good", ["a"]) == [{"row": {"value": "new"}}]


def test_two_reloads_at_a_time_happen_one_after_the_other(bench):
    """Each one begins with what the one before it has loaded."""
    bench.write("good.py", good("kg.good", "new"))
    found = []
    threads = [threading.Thread(target=lambda: found.append(bench.reload())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert sum("kg.good" in states for states in found) == 1
    assert len(found) == 4


def test_a_reload_that_has_to_wait_too_long_is_given_up(bench):
    """A reload whose import takes long does not hold a second one for ever."""
    bench.inspector._reloads["another"] = None

    with pytest.raises(TimeoutError):
        bench.inspector.reload("call", 0.01)
    del bench.inspector._reloads["another"]
    bench.inspector.reload("call", 0.01)


def test_a_reload_that_is_cancelled_while_it_waits_holds_up_no_other(bench, monkeypatch):
    """It leaves the queue, at whatever moment the interrupt reaches it."""
    loading, go, section = threading.Event(), threading.Event(), InterruptibleSection()

    def load_slowly(*arguments):
        loading.set()
        assert go.wait(10)
        return load(*arguments)

    monkeypatch.setattr("sidecypher.operations.control.load", load_slowly)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(bench.inspector.reload, "first", 10.0)
        assert loading.wait(10)
        cancelled = pool.submit(section.call, bench.inspector.reload, "cancelled", 10.0)
        wait_until(lambda: threads_in(Inspector.reload) == 2)
        assert section.interrupt()
        go.set()

        first.result(10)
        with pytest.raises(CallInterrupted):
            cancelled.result(10)
    bench.inspector.reload("next", 0.0)


def test_a_reload_is_told_before_the_next_one_begins(bench):
    """Otherwise an earlier one could be told last, and workers would keep its code."""

    def told(_loaded, _changes):
        bench.inspector._on_reload = lambda _loaded, _changes: None
        with pytest.raises(TimeoutError):
            bench.inspector.reload("next", 0.0)
        bench.told.append("told")

    bench.inspector._on_reload = told

    bench.inspector.reload("call", 0.0)

    assert bench.told == ["told"]


def test_calls_go_on_while_procedures_are_loaded_again(bench):
    """No call fails for a reload, however many of both there are."""
    client = bench.client()
    over = threading.Event()
    values = set()

    def call_all_the_time():
        while not over.is_set():
            values.add(next(iter(client.rows("kg.good")))[0])

    threads = [threading.Thread(target=call_all_the_time) for _ in range(2)]
    for thread in threads:
        thread.start()
    with contextlib.ExitStack() as stack:
        stack.callback(over.set)
        for word in "abcde":
            bench.write("good.py", good("kg.good", word))
            bench.reload()
            wait_until(lambda word=word: word in values)
    for thread in threads:
        thread.join(30)
