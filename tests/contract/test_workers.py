"""Bodies in worker processes: the same calls, and nobody else notices how a worker ends."""

import os
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import psutil
import pytest
from fix_waiting import wait_until

from sidecypher.calls.dispatcher import Session
from sidecypher.calls.executors.pool import ProcessWorkers
from sidecypher.calls.executors.pool_messages import Setup
from sidecypher.errors import CallError
from sidecypher.loading.loader import load
from sidecypher.protocol.envelope import CancelRequest
from sidecypher.transport.memory import Client, memory

START_SECONDS = 120.0
"""For what has to start a worker first: on a busy machine that takes long."""


@pytest.fixture
def call(stand):
    """Call a procedure in memory, with so many seconds."""

    def call(name, *arguments, timeout=30.0):
        client = Client(memory(stand.dispatcher), stand.signatures, timeout=timeout)
        return list(client.rows(name, *arguments))

    return call


@pytest.fixture(autouse=True)
def _no_loop(stand):
    """Begin with a worker that is ready; end without deaths that look like a crash loop."""
    stand.workers.start()
    wait_until(lambda: stand.workers._idle, START_SECONDS)
    yield
    stand.workers._crashes.clear()


@pytest.fixture
def background():
    with ThreadPoolExecutor(4) as pool:
        yield pool.submit


def written(path):
    """Wait until a body has written its mark, and return it."""
    found = wait_until(lambda: path.exists() and path.read_text(encoding="utf-8"), START_SECONDS)
    return int(found)


def is_running(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


# Calls like any other


@pytest.mark.parametrize("value", [None, 2**63 - 1, "ünï😀\\", {"$x": [date(2024, 2, 29)]}])
def test_values_come_back(rows, value):
    """Arguments reach a worker and rows come back as they are."""
    assert rows("worker.echo", value) == [[value]]


@pytest.mark.parametrize("length", [0, 1, 17, 3_000])
def test_rows_of_a_worker_come_in_pages(rows, length):
    """A stream is drained in the worker and sent in pages like any other."""
    assert rows("worker.count", length) == [["x"]] * length


def test_other_shapes_of_answers(rows):
    """Void and single-row procedures run in workers too."""
    assert rows("worker.nothing") == []
    assert rows("worker.maybe", True) == [["there"]]
    assert rows("worker.maybe", False) == []


@pytest.mark.not_over_http("it closes its connection, which is noticed later")
def test_a_caller_may_stop_reading(client, stand):
    """A caller that wants no more rows of a worker leaves nothing open."""
    stream = client.rows("worker.count", 3_000)
    next(stream)
    stream.close()

    wait_until(lambda: len(stand.dispatcher.calls) == 0)


@pytest.mark.not_over_http("it has no user and no database")
def test_a_body_in_a_worker_knows_its_call(rows):
    """Id, database, user, deadline, log, check and progress are there, on a main thread."""
    [[call_id, database, user, seconds_left, pid, is_main]] = rows("worker.facts")

    assert call_id
    # Over HTTP nobody is a user of Neo4j.
    assert (database, user) in {("neo4j", "neo4j"), ("", "")}
    assert is_main
    assert 0 < seconds_left <= 30
    assert pid != os.getpid()


def test_a_resource_is_the_workers_own(call):
    """Shared objects are shared by the calls of one worker."""
    found = [call("worker.resource")[0][0] for _ in range(8)]

    for pid in {pid for pid, _ in found}:
        counts = [count for each, count in found if each == pid]
        assert counts == list(range(counts[0], counts[0] + len(counts)))


def test_a_worker_has_no_transaction(rows, transaction):
    """`ctx.run` in a worker is the named error, and reaches nobody."""
    with pytest.raises(CallError, match="in a worker process") as caught:
        rows("worker.run")

    assert caught.value.code == "SC-208"
    assert transaction.asked == []


FOLDER = Path(__file__).parent / "procedures"
SECRET = "hunter2-payload"


@pytest.mark.parametrize(
    ("kind", "code", "told"),
    [
        ("author", "kg.no-index", "No index"),
        ("value", "SC-202", "ValueError"),
        ("exit", "SC-202", "SystemExit"),
        ("interrupt", "SC-202", "KeyboardInterrupt"),
        ("deep", "SC-202", "RecursionError"),
        ("column", "SC-205", "The column `value` of `worker.fail` is a Python int"),
    ],
)
def test_failures_are_those_of_any_body(rows, capfd, kind, code, told):
    """Whatever a body raises, the caller sees the same as from a thread, and the worker lives."""
    with pytest.raises(CallError, match=told) as caught:
        rows("worker.fail", kind, SECRET)

    assert caught.value.code == code
    if kind == "author":
        assert (caught.value.hint, caught.value.details) == ("Make it.", {"a": 1})
    assert SECRET not in f"{caught.value} {capfd.readouterr()}"


def test_failures_cost_no_worker(call, stand):
    """A body that raises leaves its worker as it is."""
    restarts = stand.workers.restarts
    for kind in ("author", "exit", "interrupt"):
        with pytest.raises(CallError):
            call("worker.fail", kind)

    assert stand.workers.restarts == restarts


def test_rows_above_the_limit_are_refused(rows, stand):
    """More bytes than a message may have are an error, and none of them reaches another call."""
    restarts = stand.workers.restarts
    for _ in range(5):
        with pytest.raises(CallError, match="more than 2097152 bytes") as caught:
            rows("worker.count", 30, 100_000)

        assert caught.value.code == "SC-216"

    assert len(rows("worker.count", 3, 1)) == 3
    assert stand.workers.restarts == restarts


def test_arguments_are_checked_before_a_worker_is_asked(rows):
    """Wrong arguments are refused as for any procedure."""
    with pytest.raises(CallError, match=r"`to` of `worker\.count`") as caught:
        rows("worker.count", "many")

    assert caught.value.code == "SC-204"


# Batches and calls by name


def test_a_batch_runs_in_one_worker(rows):
    """All rows of a batch are answered by one process, each in its place or with its error."""
    found = rows("worker.divide.batch", [[1.0], [1.0, 0.0], ["one"], [3.0, 4.0]])

    assert [(row[0], row[1], row[3] and row[3]["code"]) for row in found] == [
        (0, 0.5, None),
        (1, None, "test.zero"),
        (2, None, "SC-204"),
        (3, 0.75, None),
    ]
    [pid] = {row[2] for row in found if row[2] is not None}
    assert pid != os.getpid()


@pytest.mark.parametrize("name", ["worker.divide", "worker.halve"])
@pytest.mark.parametrize("length", [0, 1, 17, 3_000])
def test_the_rows_of_a_batch_come_in_order(rows, name, length):
    """A batch of any length comes in pages, an author's own batch too."""
    found = rows(f"{name}.batch", [[float(number)] for number in range(length)])

    assert [row[:2] for row in found] == [[number, number / 2] for number in range(length)]
    assert os.getpid() not in {row[2] for row in found}


def test_a_worker_that_dies_fails_its_batch(call, stand):
    """A batch whose worker is lost has no rows, and its error names the batch."""
    restarts = stand.workers.restarts

    with pytest.raises(CallError, match=r"that ran `worker\.die\.batch` was ended") as caught:
        call("worker.die.batch", [["well"], ["segfault"]])

    assert caught.value.code == "SC-220"
    assert stand.workers.restarts == restarts + 1


def test_a_procedure_of_a_worker_is_called_by_its_name(rows):
    """`sidecypher.call` runs the body where it belongs, with rows as maps."""
    value = {"$x": [date(2024, 2, 29)]}
    [[facts]] = rows("sidecypher.call", "worker.facts")
    batch = rows("sidecypher.call", "worker.divide.batch", [[[1.0], [1.0, 0.0]]])

    assert rows("sidecypher.call", "worker.echo", [value]) == [[{"value": value}]]
    assert rows("sidecypher.call", "worker.count", {"to": 3_000}) == [[{"value": "x"}]] * 3_000
    assert facts["pid"] != os.getpid()
    assert [(row["index"], row["value"]) for [row] in batch] == [(0, 0.5), (1, None)]


@pytest.mark.parametrize(
    ("name", "arguments", "code", "told"),
    [
        ("worker.fail", ["author"], "kg.no-index", "No index"),
        ("worker.fail", ["value"], "SC-202", "`worker.fail` failed with ValueError"),
        ("worker.die", ["exit"], "SC-220", "that ran `worker.die` ended with exit code 3"),
        ("worker.brief", [], "SC-213", "`worker.brief` did not answer within its time"),
        ("worker.count", ["many"], "SC-204", "`to` of `worker.count`"),
    ],
)
def test_a_failure_of_a_call_by_name_tells_the_procedure(rows, name, arguments, code, told):
    """What goes wrong in a worker is told of the procedure itself, with its own timeout."""
    with pytest.raises(CallError, match=told) as caught:
        rows("sidecypher.call", name, arguments)

    assert caught.value.code == code


# Workers that end


@pytest.mark.parametrize(
    ("name", "how", "told"),
    [
        ("worker.die", "segfault", "was ended by SIGSEGV"),
        ("worker.die", "exit", "ended with exit code 3"),
        ("worker.die", "memory", "needed more than the 256 MiB"),
        ("worker.dieLate", None, "ended with exit code 3"),
    ],
)
def test_a_worker_that_dies_is_lost_and_replaced(call, stand, name, how, told):
    """The caller is told at once how the worker ended; the next call has another one."""
    restarts, arguments = stand.workers.restarts, [how] if how else []
    begun = time.monotonic()

    with pytest.raises(CallError, match=f"that ran `{name}` {told}") as caught:
        call(name, *arguments, timeout=START_SECONDS)

    assert caught.value.code == "SC-220"
    # Not at the deadline; a worker may have to be started first.
    assert time.monotonic() - begun < 60
    assert call("worker.echo", "next") == [["next"]]
    assert stand.workers.restarts == restarts + 1
    assert not stand.workers.crash_looping()


def test_a_body_that_forks_answers_once(call, stand):
    """The child of a body that returns twice neither answers nor takes calls."""
    restarts = stand.workers.restarts

    [[worker, child]] = call("worker.fork")

    wait_until(lambda: not is_running(child))
    assert [call("worker.echo", number) for number in range(8)] == [[[n]] for n in range(8)]
    assert is_running(worker)
    assert stand.workers.restarts == restarts


@pytest.mark.parametrize("what", ["pickle", "rows of another call"])
def test_a_worker_that_gives_another_answer_is_replaced(call, stand, what):
    """What a body has written to its worker's channel is taken for nobody's rows."""
    with pytest.raises(
        CallError, match=r"`worker\.forge` sent something that is not an answer"
    ) as caught:
        call("worker.forge", what)

    assert caught.value.code == "SC-220"
    assert [call("worker.echo", number) for number in range(8)] == [[[n]] for n in range(8)]


def test_nobody_else_notices_a_worker_that_dies(call, stand, background):
    """A call in another worker goes on, and others on threads as well."""
    call("worker.echo", "warm")
    other = background(call, "worker.sleep", 1.0)

    with pytest.raises(CallError):
        call("worker.die", "segfault")

    assert call("test.echo", "thread") == [["thread"]]
    assert other.result(30) == [["awake"]]


def test_a_worker_that_holds_its_interpreter_is_killed_at_the_deadline(call, stand, tmp_path):
    """C code that never lets go ends with the call's time; no other thread waits for it."""
    slowest = 0.0
    over = threading.Event()

    def live():
        nonlocal slowest
        while not over.wait(0.002):
            begun = time.perf_counter()
            call("test.echo", "live")
            slowest = max(slowest, time.perf_counter() - begun)

    call("worker.echo", "warm")
    other = threading.Thread(target=live)
    other.start()
    with pytest.raises(CallError) as caught:
        call("worker.hold", str(tmp_path / "mark"), timeout=5.0)
    over.set()
    other.join(10)

    assert caught.value.code == "SC-213"
    assert not is_running(written(tmp_path / "mark"))
    assert slowest < 2.5
    assert not stand.workers.crash_looping()


def test_a_cancel_kills_the_worker_and_what_it_has_started(call, stand, background, tmp_path):
    """A cancelled call's process is gone at once, with its children; its caller is told."""
    mark = tmp_path / "mark"
    answer = background(call, "worker.child", str(mark))
    child = written(mark)
    [running] = [each for each in stand.dispatcher.calls.running() if each.name == "worker.child"]

    request = CancelRequest(running.call_id, "terminated")
    stand.dispatcher.cancel(request, Session(None, jvm="client"))

    with pytest.raises(CallError) as caught:
        answer.result(10)
    assert caught.value.code == "SC-207"
    wait_until(lambda: not is_running(child))
    wait_until(lambda: stand.dispatcher.calls.stuck == 0)
    assert call("worker.echo", "next") == [["next"]]


def test_more_calls_than_workers_wait_for_their_turn(call, background):
    """Calls queue for a worker, each within its own time."""
    answers = [background(call, "worker.sleep", 0.05) for _ in range(6)]

    assert [answer.result(30) for answer in answers] == [[["awake"]]] * 6


def test_a_call_that_gets_no_worker_in_time_ends_with_its_deadline(call, background, tmp_path):
    """Time in the queue is the call's own; nothing of it runs afterwards."""
    begun, go = [tmp_path / "one", tmp_path / "two"], tmp_path / "go"
    busy = [background(call, "process.await", str(each), str(go)) for each in begun]
    wait_until(lambda: all(each.exists() for each in begun))

    with pytest.raises(CallError) as caught:
        call("worker.echo", "late", timeout=0.2)

    assert caught.value.code == "SC-213"
    go.touch()
    assert len({answer.result(30)[0][0] for answer in busy}) == 2


_SIDECAR = """
import pathlib, sys, threading
from sidecypher.calls.executors.pool import ProcessWorkers
from sidecypher.calls.executors.pool_messages import Setup, Task
from sidecypher.calls.executors.pool import Lease
from sidecypher.loading.loader import load
from sidecypher.protocol.deadline import Deadline

folder, mark = pathlib.Path(sys.argv[1]), sys.argv[2]
signature = load([folder]).registry.get("worker.hold").entry.signature
task = Task("1", "procedure", "worker.hold", signature, [mark], "", "", 60.0, "")
workers = ProcessWorkers(Setup([str(folder)]), 1)
workers.run("worker.hold", task, Lease(), Deadline.after(60.0), print)
"""


@pytest.mark.slow
def test_workers_end_with_their_sidecar(tmp_path):
    """A sidecar that is killed leaves no process behind, not even one inside of C code."""
    mark = tmp_path / "mark"
    command = [sys.executable, "-c", _SIDECAR, str(FOLDER), str(mark)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as sidecar:
        worker = written(mark)
        assert is_running(worker)

        sidecar.kill()

    wait_until(lambda: not is_running(worker))


# Processes of its own for each test


@pytest.fixture
def pool(tmp_path):
    """Make workers of a folder with one procedure, whose source is given."""
    made = []

    def make(source, **options):
        (tmp_path / "own.py").write_text(_HEAD + source, encoding="utf-8")
        made.append(ProcessWorkers(Setup([str(tmp_path)], **options), 1))
        return made[-1]

    yield make
    for each in made:
        each.stop()


_HEAD = """
import os, pathlib
from sidecypher import Context, Row, procedure
class Text(Row):
    value: str
"""
_VERSION = '@procedure("own.version", executor="process")\ndef version() -> Text:\n'
_ENDLESS = """
import threading
class Kept:
    def stop(self) -> None:
        threading.Event().wait()
@procedure("own.version", executor="process")
def version(ctx: Context) -> Text:
    ctx.resource(Kept)
    own = pathlib.Path(__file__)
    own.with_name("begun").touch()
    while not own.with_name("go").exists():
        pass
    return Text(value=str(os.getpid()))
"""
_TRACED = """
import time
import __main__
from opentelemetry import trace
class Kept:
    def stop(self) -> None:
        time.sleep(3.0)
@procedure("own.version", executor="process")
def version(ctx: Context) -> Text:
    __main__.STOP_SECONDS = 4.0
    ctx.resource(Kept)
    with trace.get_tracer("own").start_as_current_span("inner"):
        return Text(value="traced")
"""
_STOPPED = """
class Kept:
    def stop(self) -> None:
        pathlib.Path(__file__).with_name("stopped").touch()
@procedure("own.version", executor="process")
def version(ctx: Context) -> Text:
    ctx.resource(Kept)
    return Text(value="kept")
"""


@pytest.fixture
def ask(stand):
    """Call `own.version` in workers of its own; return its value."""

    def ask(workers, folder):
        dispatcher, signatures = stand.further(load([folder]).registry, workers=workers)
        [[value]] = Client(memory(dispatcher), signatures, START_SECONDS).rows("own.version")
        return value

    return ask


@pytest.mark.slow
def test_reloaded_workers_have_the_new_code(pool, ask, tmp_path):
    """After `reload` the next call runs what the files say now."""
    workers = pool(_VERSION + '    return Text(value="old")')
    assert ask(workers, tmp_path) == "old"
    # Of another length: a sidecar that reloads forgets bytecode, here Python itself must notice.
    pool(_VERSION + '    return Text(value="newer")')

    assert ask(workers, tmp_path) == "old"
    workers.reload()

    assert ask(workers, tmp_path) == "newer"
    assert workers.restarts == 0


@pytest.mark.slow
def test_workers_that_cannot_start_are_reported(pool, ask, tmp_path):
    """A module that ends its process at import is a crash loop; calls fail at once and say so."""
    workers = pool(
        _VERSION
        + '    return Text(value="never")\n'
        + f"if os.getpid() != {os.getpid()}: os._exit(9)\n"
    )
    workers.start()
    wait_until(workers.crash_looping, START_SECONDS)

    with pytest.raises(CallError, match="No worker process could be started") as caught:
        ask(workers, tmp_path)

    assert caught.value.code == "SC-220"


@pytest.mark.slow
def test_workers_that_die_one_after_the_other_are_reported(monkeypatch, pool, ask, tmp_path):
    """Many deaths within a minute are a crash loop, until the procedures are loaded anew."""
    monkeypatch.setattr("sidecypher.calls.executors.pool.CRASHES", 2)
    workers = pool(_VERSION + "    os._exit(0)")
    for _ in range(2):
        assert not workers.crash_looping()
        with pytest.raises(CallError, match="ended with exit code 0"):
            ask(workers, tmp_path)

    assert workers.crash_looping()
    workers.reload()
    assert not workers.crash_looping()


def test_without_workers_such_calls_are_refused(ask, tmp_path, pool):
    """With no processes at all the caller is told which setting to change."""
    pool(_VERSION + '    return Text(value="here")')

    with pytest.raises(CallError, match="no worker process runs") as caught:
        ask(ProcessWorkers(Setup([str(tmp_path)]), 0), tmp_path)

    assert caught.value.code == "SC-220"
    assert "`worker_processes`" in caught.value.hint


def test_a_sidecar_without_processes_runs_them_itself(pool, ask, tmp_path):
    """In a test environment, which has no workers, bodies run on threads, and say the same."""
    pool(_VERSION + '    return Text(value="here")')

    assert ask(None, tmp_path) == "here"


def test_workers_stop_their_shared_objects(pool, ask, tmp_path, monkeypatch):
    """When the sidecar stops, each worker stops what its bodies have shared."""
    monkeypatch.setattr("sidecypher.calls.executors.pool.KILL_SECONDS", 10.0)
    workers = pool(_STOPPED)
    assert ask(workers, tmp_path) == "kept"

    workers.stop()

    assert (tmp_path / "stopped").exists()


@pytest.mark.slow
def test_a_call_does_not_wait_for_the_end_of_its_worker(pool, ask, background, tmp_path):
    """A worker that a reload has replaced may take its time to end; its last caller has its row."""
    workers = pool(_ENDLESS)
    answer = background(ask, workers, tmp_path)
    wait_until((tmp_path / "begun").exists, START_SECONDS)
    workers.reload()

    (tmp_path / "go").touch()

    worker = int(answer.result(30))
    assert is_running(worker)
    wait_until(lambda: not is_running(worker))


@pytest.mark.slow
def test_a_worker_tells_of_the_spans_it_has_lost(pool, ask, tmp_path, monkeypatch, capfd):
    """Its shared objects and its last spans have one time together, and it ends by itself."""
    # 3 s and the rest of 4 s, which is told before the kill; 3 s and another 4 s would not be.
    monkeypatch.setattr("sidecypher.calls.executors.pool.KILL_SECONDS", 5.5)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        endpoint = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
        workers = pool(_TRACED, traces=True)
        assert ask(workers, tmp_path) == "traced"

        workers.stop()

    assert '"event": "spans lost"' in capfd.readouterr().err


def test_workers_refuse_calls_once_they_stop(pool, ask, tmp_path):
    """A call that comes while the sidecar stops was never started, and may be tried again."""
    workers = pool(_VERSION + '    return Text(value="here")')
    workers.stop()

    with pytest.raises(CallError, match="The sidecar is stopping") as caught:
        ask(workers, tmp_path)

    assert caught.value.retryable
