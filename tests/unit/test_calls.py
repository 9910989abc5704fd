"""What a call is made of: its context, its results, shared objects, and its place in dispatch."""

import asyncio
import contextlib
import contextvars
import gc
import itertools
import json
import math
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction

import pytest
from fix_describe import describe
from fix_waiting import promised, threads_in, wait_until

from sidecypher import Context, Row, procedure
from sidecypher.calls._open_calls import OpenCalls
from sidecypher.calls.dispatcher import Dispatcher, Session
from sidecypher.calls.executors.loop import EventLoop
from sidecypher.errors import (
    CallCancelled,
    CallError,
    ContextExpired,
    CypherError,
    DeadlineExceeded,
    ProtocolError,
    SidecarBusy,
)
from sidecypher.host.limits import Limits
from sidecypher.protocol import envelope
from sidecypher.protocol.deadline import Deadline
from sidecypher.protocol.envelope import RunReply, RunRequest
from sidecypher.sdk.call import Call
from sidecypher.sdk.interruption import CallInterrupted, InterruptibleSection
from sidecypher.sdk.registry import Registry
from sidecypher.sdk.resources import Resources, _Creation
from sidecypher.telemetry.calls import Telemetry
from sidecypher.testing import ProcedureEnvironment
from sidecypher.transport._messages import Messages


class Text(Row):
    value: str


def echo(ctx: Context, value: str) -> Text:
    return Text(value=f"{value} for {ctx.user} in {ctx.database} by {ctx.call_id}")


@pytest.fixture
def loop():
    made = EventLoop()
    yield made
    made.stop()


@pytest.fixture
def dispatcher(loop):
    registry = Registry([describe(echo, "kg.echo", "READ", 5.0)])
    return Dispatcher(registry, loop, Resources(), Telemetry(), Limits())


@pytest.fixture
def ask(dispatcher):
    """Send one message over a connection that has said hello."""
    session, messages = Session(lambda method, request: request), Messages(dispatcher)

    def ask(method, **message):
        return json.loads(messages.answer(method, json.dumps(message).encode(), session))

    ask("hello", v=envelope.VERSION, jvm="jvm", role="call", catalogue="")
    return ask


def call(dispatcher, **changes):
    signature = dispatcher.registry.get("kg.echo").entry.signature
    return {
        "id": "1", "name": "kg.echo", "signature": signature, "args": ["x"],
        "remaining_ms": 30_000, "mode": "READ", "database": "graph", "user": "ann", **changes,
    }  # fmt: skip


@pytest.mark.parametrize("wrong", [object(), "three quarters", [3]])
def test_progress_is_told_in_numbers(wrong):
    """What is not a number is refused where it is told, and leaves what was told before."""
    shared = Call("1", "kg.echo", "graph", "ann")
    shared.progress(Fraction(1, 2), Decimal(3))

    for told in ((wrong, None), (1, wrong)):
        with pytest.raises((TypeError, ValueError)):
            shared.progress(*told)

    assert (shared.done, shared.total) == (0.5, 3.0)
    assert {type(shared.done), type(shared.total)} == {float}


# Dispatch


def test_a_body_knows_who_calls_and_where(dispatcher, ask):
    """User, database and call id of the request are those of the context."""
    answer = ask("call", **call(dispatcher, id="call-7"))

    assert answer == {
        "id": "call-7",
        "rows": [["x for ann in graph by call-7"]],
        "more": False,
    }


def test_a_stopping_sidecar_refuses_new_calls_and_may_be_asked_again(dispatcher, ask):
    """After `refuse_new` a call is refused as retryable; it was never started."""
    dispatcher.refuse_new()

    reply = ask("call", **call(dispatcher))

    assert (reply["error"]["code"], reply["error"]["retryable"]) == ("SC-210", True)
    assert reply["refused"] == "stopping"
    assert len(dispatcher.calls) == 0


def test_a_procedure_of_another_signature_is_not_called(dispatcher, ask):
    """A plugin that disagrees about one procedure is told how to agree again."""
    reply = ask("call", **call(dispatcher, signature="0" * 16))

    assert reply["error"]["code"] == "SC-217"
    assert "sidecypher plugin build" in reply["error"]["hint"]
    assert "refused" not in reply


def test_a_method_that_does_not_exist_is_a_protocol_error(dispatcher):
    """Methods are those of the protocol, never attributes of an object."""
    for method in ("answer", "_call", "__init__", "refuse_new", ""):
        with pytest.raises(ProtocolError, match="does not exist"):
            Messages(dispatcher).answer(method, b"{}", Session(lambda method, request: request))


def test_the_end_of_a_calling_connection_ends_nothing(dispatcher):
    """Only a control connection stands for its JVM."""
    dispatcher.disconnected(Session(lambda method, request: request))

    assert len(dispatcher.calls) == 0


def spelled(value: str) -> Iterator[Text]:
    for letter in value:
        yield Text(value=letter)


def failing(ctx: Context, value: str) -> Text:
    raise ValueError(value)


async def waiting(ctx: Context, value: str) -> Text:
    await asyncio.sleep(0)
    return Text(value=value)


def open_calls(name: str) -> list[Call]:
    found = [each for each in gc.get_objects() if isinstance(each, Call)]
    return [each for each in found if each.name == name]


@pytest.mark.parametrize("body", [echo, spelled, failing, waiting])
def test_a_call_that_is_over_waits_for_no_garbage_collector(body):
    """Its arguments and rows, of up to 16 MiB, are freed at its end: nothing refers in a circle."""
    gc.collect()
    gc.disable()
    try:
        with ProcedureEnvironment(procedure("kg.body")(body)) as environment:
            with contextlib.suppress(CallError):
                environment.call("kg.body", "a" * 100)

            wait_until(lambda: not open_calls("kg.body"))
    finally:
        gc.enable()


# The state of a call


@pytest.fixture
def shared():
    made = Call("1", "kg.echo", "graph", "ann")
    made.serve(lambda method, request: RunReply([method]), Deadline.after(60.0))
    return made


def test_a_call_with_time_left_goes_on(shared):
    """`check` says nothing while somebody waits."""
    shared.check()

    assert not shared.is_cancelled


def test_a_call_without_time_is_told(shared):
    """`check` raises once the deadline has passed."""
    shared.serve(lambda method, request: request, Deadline.after(0.0))

    with pytest.raises(DeadlineExceeded, match=r"`kg\.echo` did not answer within its time"):
        shared.check()


def test_the_first_reason_to_stop_is_kept(shared):
    """A call that is cancelled twice tells why it was cancelled first."""
    first, second = CallCancelled("first"), DeadlineExceeded("second")
    shared.cancel(first)
    shared.cancel(second)

    with pytest.raises(CallCancelled, match="first"):
        shared.check()
    assert shared.is_cancelled


def test_a_failed_statement_dooms_what_follows(shared):
    """After a failed statement `check` raises its error."""
    shared.failure = CypherError("Invalid input", neo4j_code="Neo.ClientError")

    with pytest.raises(CypherError, match="Invalid input"):
        shared.check()


def test_callbacks_go_through_the_serving_thread_only(shared):
    """The thread that serves may call back; another one, or none, may not."""
    refused = []

    def elsewhere():
        try:
            shared.call_back("run", RunRequest("1", 1, "RETURN 1", {}))
        except ContextExpired as error:
            refused.append(error.code)

    request = RunRequest("1", 1, "RETURN 1", {})
    assert shared.call_back("run", request) == RunReply(["run"])
    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join(10)
    assert refused == ["SC-208"]
    shared.suspend()
    assert not shared.is_served
    with pytest.raises(ContextExpired):
        shared.call_back("run", request)


# Shared objects


def test_an_object_is_made_once_by_whoever_comes_first():
    """However many threads ask at once, there is one object."""
    barrier = threading.Barrier(8, timeout=10)
    made, got = [], []

    class Shared:
        def __init__(self):
            made.append(self)

    resources = Resources()

    def ask():
        barrier.wait()
        got.append(resources.get(Shared))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)

    assert len(made) == 1
    assert got == made * 8


@pytest.fixture
def background():
    with ThreadPoolExecutor(4) as pool:
        yield pool.submit


class Slow:
    """An object that is made when the test says so."""

    made = 0
    error: BaseException | None = None

    def __init__(self):
        kind = type(self)
        kind.made += 1
        kind.begun.set()
        assert kind.go.wait(10)
        if kind.error is not None:
            error, kind.error = kind.error, None
            raise error


@pytest.fixture
def slow():
    """A class of an object that takes long to be made."""
    kind = type("Model", (Slow,), {"begun": threading.Event(), "go": threading.Event()})
    yield kind
    kind.go.set()


def test_what_is_made_slowly_holds_up_nothing_else(slow, background):
    """Another object is made meanwhile, and the event loop gives up soon what it cannot have."""
    resources = Resources()
    first = background(resources.get, slow)
    assert slow.begun.wait(10)

    assert background(resources.get, list).result(10) == []
    with pytest.raises(TimeoutError):
        resources.get(slow, is_loop=True)
    slow.go.set()

    assert resources.get(slow, is_loop=True) is first.result(10)
    assert slow.made == 1


@pytest.mark.parametrize("error", [ValueError("why"), CallInterrupted()], ids=["fails", "ends"])
def test_what_cannot_be_made_is_tried_again_by_the_next(slow, background, error):
    """Who waits hears of a failure, but not that another's call was interrupted."""
    resources = Resources()
    slow.error = error
    first = background(resources.get, slow)
    assert slow.begun.wait(10)
    second = background(resources.get, slow)
    wait_until(lambda: threads_in(_Creation.wait))
    slow.go.set()

    with pytest.raises(type(error)):
        first.result(10)
    if isinstance(error, ValueError):
        with pytest.raises(ValueError, match="why"):
            second.result(10)
    assert isinstance(resources.get(slow), slow)
    assert slow.made == 2


def test_who_waits_for_an_object_can_be_interrupted(slow, background):
    """A cancelled call ends although another one is still making what it waits for."""
    resources, section = Resources(), InterruptibleSection()
    first = background(resources.get, slow)
    assert slow.begun.wait(10)
    second = background(section.call, resources.get, slow)
    wait_until(lambda: threads_in(_Creation.wait))

    assert section.interrupt()

    with pytest.raises(CallInterrupted):
        second.result(10)
    slow.go.set()
    assert resources.get(slow) is first.result(10)


def test_an_interrupt_at_any_line_leaves_an_object_to_the_next(background):
    """Who waits for the object gets it, and so does the interrupted thread when it asks again."""
    lines = set()
    for nth in itertools.count(1):
        resources, waiting = Resources(), []

        class Shared:
            def __init__(self):
                if not self.waiting:
                    self.waiting.append(background(self.resources.get, type(self)))
                    wait_until(lambda: threads_in(_Creation.wait))

        Shared.resources, Shared.waiting = resources, waiting
        line = interrupted(nth, resources.get, Shared)

        assert isinstance(resources.get(Shared), Shared)
        for each in waiting:
            assert isinstance(each.result(promised(1)), Shared)
        if line is None:
            break
        lines.add(line)
    assert len(lines) > 10


def interrupted(nth, function, *arguments):
    """Call a function; interrupt it at the n-th line of its file and return that line's number."""
    file, found, before = function.__code__.co_filename, [], sys.gettrace()
    counter = itertools.count(1)

    def trace(frame, event, _argument):
        if frame.f_code.co_filename != file:
            return None
        if event == "line" and next(counter) == nth:
            found.append(frame.f_lineno)
            raise CallInterrupted
        return trace

    sys.settrace(trace)
    try:
        with contextlib.suppress(CallInterrupted):
            function(*arguments)
    finally:
        sys.settrace(before)
    return found[0] if found else None


def test_an_object_that_needs_itself_is_told():
    """Instead of waiting for itself for ever."""
    resources = Resources()

    class Own:
        def __init__(self):
            resources.get(Own)

    with pytest.raises(RecursionError, match="Own needs itself"):
        resources.get(Own)


def test_an_object_that_cannot_be_stopped_stops_no_other(capsys):
    """A `stop` that raises is logged by type, without its text, and the others are stopped."""
    stopped = []

    class First:
        def stop(self):
            stopped.append("first")

    class Broken:
        def stop(self):
            raise ValueError("payload")

    resources = Resources()
    resources.get(First)
    resources.get(Broken)
    asyncio.run(resources.stop())

    assert stopped == ["first"]
    assert "payload" not in "".join(capsys.readouterr())


def test_objects_are_stopped_in_reverse_order():
    """What was made last is stopped first, by a plain or an async `stop`, or not at all."""
    stopped = []

    class First:
        def stop(self):
            stopped.append("first")

    class Second:
        async def stop(self):
            stopped.append("second")

    class Third:
        pass

    resources = Resources()
    for kind in (First, Second, Third):
        resources.get(kind)
    asyncio.run(resources.stop())
    asyncio.run(resources.stop())

    assert stopped == ["second", "first"]


def test_objects_are_drained_together_before_they_are_stopped(capsys):
    """None waits for another; one that fails is logged by type."""
    seen = []

    class First:
        async def drain(self):
            await others.wait()
            seen.append("first")

    class Second:
        async def drain(self):
            others.set()
            raise ValueError("payload")

    class Third:
        def stop(self):
            seen.append("stopped")

    others, resources = asyncio.Event(), Resources()
    resources.get(Third)
    assert not resources.can_drain
    resources.get(First)
    resources.get(Second)
    assert resources.can_drain
    asyncio.run(resources.drain())
    asyncio.run(resources.stop())

    assert seen == ["first", "stopped"]
    assert "payload" not in "".join(capsys.readouterr())


def test_a_plain_drain_holds_up_no_call():
    """It runs in a thread, while the event loop goes on."""
    drained = threading.Event()

    class Plain:
        def drain(self):
            assert drained.wait(30)
            others.append("plain")

    class Other:
        async def drain(self):
            others.append("async")
            drained.set()

    others, resources = [], Resources()
    resources.get(Plain)
    resources.get(Other)
    asyncio.run(resources.drain())

    assert others == ["async", "plain"]


@pytest.mark.parametrize("ends", [Resources.drain, Resources.stop], ids=["drain", "stop"])
@pytest.mark.parametrize("raised", [asyncio.CancelledError, SystemExit])
def test_an_object_that_raises_what_ends_tasks_ends_no_other(ends, raised):
    """An author who cancels a task of their own and awaits it raises `CancelledError`."""
    seen, resources = [], Resources()

    class Other:
        async def drain(self):
            # So that the one that fails does it first.
            await asyncio.sleep(0)
            seen.append("other")

        async def stop(self):
            seen.append("other")

    class Broken:
        async def drain(self):
            raise raised

        async def stop(self):
            raise raised

    resources.get(Other)
    resources.get(Broken)
    asyncio.run(ends(resources))

    assert seen == ["other"]


def test_an_object_that_is_dropped_is_drained_and_stopped():
    """Also when it could not be drained in time."""
    seen = []

    class Shared:
        async def drain(self):
            seen.append("drain")

        async def stop(self):
            seen.append("stop")

    def await_(start):
        asyncio.run(start())
        raise TimeoutError

    resources = Resources()
    resources.get(Shared)
    resources.drop([Shared], await_)

    assert seen == ["drain", "stop"]


def test_an_object_may_ask_for_another_while_it_is_made():
    """Shared objects may be built of each other."""
    resources = Resources()

    class Inner:
        pass

    class Outer:
        def __init__(self):
            self.inner = resources.get(Inner)

    assert resources.get(Outer).inner is resources.get(Inner)


# The event loop


def run(loop, start, timeout=10.0):
    return loop.run(start, contextvars.copy_context(), timeout)


def test_coroutines_run_under_their_own_variables(loop):
    """A coroutine sees the context variables it was submitted with."""
    variable = contextvars.ContextVar("variable")
    variable.set("mine")

    async def body():
        return variable.get(), threading.current_thread().name

    assert run(loop, body) == ("mine", "sidecypher-loop")


@pytest.mark.parametrize("error", [ValueError, SystemExit, KeyboardInterrupt])
def test_what_a_coroutine_raises_comes_to_its_caller(loop, error):
    """No exception, not even SystemExit, ends the loop that all calls share."""

    async def body():
        raise error

    with pytest.raises(error):
        run(loop, body)
    assert run(loop, lambda: asyncio.sleep(0, "alive")) == "alive"


def test_a_coroutine_that_takes_too_long_is_cancelled(loop):
    """After the time is up the caller has an error and the coroutine its cancellation."""
    cancelled = threading.Event()

    async def body():
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    with pytest.raises(TimeoutError):
        run(loop, body, 1.0)
    assert cancelled.wait(10)


def test_stopping_cancels_what_runs_then_does_the_last_things():
    """At its end the loop cancels its tasks, awaits the last ones, and its thread is gone."""
    loop, seen, begun = EventLoop(), [], threading.Event()

    async def body():
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            seen.append("cancelled")

    async def last():
        seen.append("last")

    loop.submit(body, contextvars.copy_context(), lambda job: seen.append(type(job.error).__name__))
    assert begun.wait(10)
    loop.stop([last])

    assert seen == ["cancelled", "CancelledError", "last"]
    assert loop.silence() == math.inf


def test_tasks_that_nobody_submitted_live_until_the_last_things_are_done():
    """A shared object may need its own task to stop in order; after that it is cancelled."""
    loop, seen, tasks = EventLoop(), [], []

    async def work():
        try:
            await asyncio.Event().wait()
        finally:
            seen.append("cancelled")

    async def begin():
        tasks.append(asyncio.create_task(work()))

    async def last():
        seen.append("last")

    run(loop, begin)
    loop.stop([last])

    assert seen == ["last", "cancelled"]


def test_the_decorator_leaves_async_bodies_callable():
    """An async procedure is still an async function for its author's own tests."""

    @procedure("kg.later")
    async def later(value: str) -> Text:
        return Text(value=value)

    assert asyncio.run(later("x")) == Text(value="x")


def test_a_blocked_loop_is_silent_until_it_goes_on():
    """A coroutine that blocks lets the loop's silence grow; a ping after it ends the silence."""
    loop, entered, release = EventLoop(), threading.Event(), threading.Event()

    async def block():
        entered.set()
        release.wait(10)

    job = loop.submit(block, contextvars.copy_context(), lambda _job: None)
    assert entered.wait(10)
    loop.ping()
    wait_until(lambda: loop.silence() > 0.05)
    loop.ping()
    assert loop.silence() > 0.05
    release.set()
    wait_until(lambda: not loop.silence())

    assert job.error is None
    loop.stop()


def test_a_loop_without_pings_is_not_silent():
    """A sidecar that needs long to load its procedures is ready as soon as it is announced."""
    loop = EventLoop()
    begin = time.monotonic()
    wait_until(lambda: time.monotonic() > begin)

    assert loop.silence() == 0
    loop.stop()


def test_arguments_beyond_the_memory_are_refused_for_now():
    """A call whose arguments have no room is refused as busy, and has room when others are over."""
    calls = OpenCalls(lease_seconds=1, argument_bytes=200_000)
    reservation = calls.reserve(150_000)

    with pytest.raises(SidecarBusy) as caught:
        calls.reserve(100_000)

    assert caught.value.message == "The sidecar has reached its limit of bytes of arguments"
    assert caught.value.hint == "Call again later, or pass less data."
    assert caught.value.retryable
    reservation.release()
    calls.reserve(100_000)
