"""How calls end that nobody waits for any more, over each transport."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from fix_waiting import wait_until

from sidecypher.calls.dispatcher import Dispatcher, Session
from sidecypher.calls.executors._async import AsyncExecution
from sidecypher.errors import CallError
from sidecypher.host.limits import Limits
from sidecypher.protocol import envelope
from sidecypher.protocol.envelope import CancelRequest
from sidecypher.sdk.call import Call
from sidecypher.sdk.registry import Registry
from sidecypher.telemetry.calls import Telemetry
from sidecypher.transport.memory import Client, memory


@pytest.fixture
def state(stand):
    """What the procedures of `endings.py` have seen in this test."""
    found = stand.state_of("ending.spin")
    found.reset()
    yield found
    found.go.set()
    wait_until(lambda: stand.dispatcher.calls.stuck == 0)


@pytest.fixture
def background():
    with ThreadPoolExecutor(4) as pool:
        yield pool.submit


@pytest.fixture
def elsewhere(stand):
    """Call over a way of its own, while the client of the test is busy."""
    other = Client(memory(stand.dispatcher), stand.signatures)
    return lambda name, *arguments: list(other.rows(name, *arguments))


@pytest.fixture
def served(client, background, state):
    """Call a procedure whose body waits or computes; return its future answer."""

    def serve(name, *arguments):
        answer = background(lambda: list(client.rows(name, *arguments)))
        assert state.begun.wait(10)
        return answer

    return serve


def open_call(dispatcher, name):
    [found] = [call for call in dispatcher.calls.running() if call.name == name]
    return found


def cancel(dispatcher, name, reason="terminated"):
    """Cancel the only open call of a procedure, as its JVM would."""
    request = CancelRequest(open_call(dispatcher, name).call_id, reason)
    dispatcher.cancel(request, Session(None, jvm="client"))


@pytest.fixture
def own():
    """Make further dispatchers, with limits and a clock of their own."""

    def make(stand, timeout=30.0, **limits):
        dispatcher = Dispatcher(
            stand.loaded.registry, stand.loop, stand.resources, Telemetry(), Limits(**limits)
        )
        return dispatcher, Client(memory(dispatcher), stand.signatures, timeout=timeout)

    return make


# Bodies that do not look whether they were cancelled


@pytest.mark.not_over_http("it cancels by closing the connection")
@pytest.mark.parametrize(("reason", "code"), [("deadline", "SC-213"), ("terminated", "SC-207")])
def test_a_body_that_computes_is_interrupted(  # noqa: PLR0917
    stand, state, served, rows, reason, code
):
    """A cancelled plain body that never looks is ended by an exception, and its caller told why."""
    answer = served("ending.spin")

    cancel(stand.dispatcher, "ending.spin", reason)

    with pytest.raises(CallError) as caught:
        answer.result(10)
    assert caught.value.code == code
    assert state.ended.is_set()
    assert state.seen == ["CallInterrupted"]
    wait_until(lambda: stand.dispatcher.calls.stuck == 0)
    assert rows("test.echo", "next") == [["next"]]


@pytest.mark.not_over_http("it cancels by closing the connection")
def test_a_generator_that_computes_is_interrupted_and_closed(stand, state, served):
    """The same holds in the middle of a stream, and its `finally` runs."""
    answer = served("ending.spinInStream")

    cancel(stand.dispatcher, "ending.spinInStream")

    with pytest.raises(CallError):
        answer.result(10)
    assert state.ended.is_set()


@pytest.mark.not_over_http("it cancels by closing the connection")
@pytest.mark.parametrize("name", ["ending.swallow", "ending.block"])
def test_a_body_that_does_not_stop_is_counted_until_it_does(stand, state, served, elsewhere, name):
    """A body that swallows the exception, or waits in C code, is stuck; others are served."""
    answer = served(name)

    cancel(stand.dispatcher, name)

    wait_until(lambda: stand.dispatcher.calls.stuck == 1)
    assert open_call(stand.dispatcher, name).state == "stuck"
    assert elsewhere("test.echo", "meanwhile") == [["meanwhile"]]
    state.go.set()
    with pytest.raises(CallError, match="was cancelled"):
        answer.result(10)
    wait_until(lambda: stand.dispatcher.calls.stuck == 0)
    assert [call for call in stand.dispatcher.calls.running() if call.name == name] == []


def test_an_async_body_that_does_not_stop_is_counted(stand, state, background, own):
    """A task that swallows its cancellation is stuck, though its caller has its answer."""
    dispatcher, client = own(stand, timeout=1.0)
    answer = background(lambda: list(client.rows("ending.blockAsync")))

    with pytest.raises(CallError) as caught:
        answer.result(10)

    assert caught.value.code == "SC-213"
    wait_until(lambda: dispatcher.calls.stuck == 1)
    stuck = open_call(dispatcher, "ending.blockAsync")
    assert stuck.state == "stuck"
    # What is listed may be cancelled, even if that is nothing new.
    assert dispatcher.calls.cancel_by_id(stuck.call_id)
    assert state.seen == ["CancelledError"]
    state.go.set()
    assert state.ended.wait(10)
    wait_until(lambda: dispatcher.calls.stuck == 0)


def test_a_caller_that_cannot_cancel_is_answered_all_the_same(stand, state, background, own):
    """A body that is served beyond its deadline is stopped without anybody's cancel."""
    dispatcher, client = own(stand, timeout=1.0)
    answer = background(lambda: list(client.rows("ending.spin")))
    assert state.begun.wait(10)

    wait_until(lambda: dispatcher.calls.expire() or answer.done())

    with pytest.raises(CallError) as caught:
        answer.result()
    assert caught.value.code == "SC-213"


@pytest.mark.usefixtures("state")
def test_a_body_is_not_interrupted_in_the_middle_of_a_callback(stand, background, state):
    """While a statement is on its way nothing is raised, so that no message is cut in half."""
    meanwhile = threading.Event()

    def slow(_method, _request):
        state.begun.set()
        assert meanwhile.wait(10)
        return envelope.write(envelope.RunReply(["one"], [[1]]))

    line = stand.line(slow)
    client = Client(line.ask, stand.signatures)
    answer = background(lambda: list(client.rows("test.callback")))
    assert state.begun.wait(10)
    cancel(stand.dispatcher, "test.callback")
    wait_until(lambda: stand.dispatcher.calls.stuck == 1)
    meanwhile.set()

    with pytest.raises(CallError, match="was cancelled"):
        answer.result(10)
    assert list(client.rows("test.echo", "same connection")) == [["same connection"]]
    line.close()


@pytest.mark.parametrize("name", ["ending.nothing", "ending.nothingAsync"])
def test_a_call_that_was_cancelled_before_it_began_never_begins(stand, state, own, name):
    """A cancel that comes between the call's admission and its body keeps the body from running."""
    dispatcher, client = own(stand)
    add = dispatcher.calls.add

    def add_and_cancel(call):
        add(call)
        cancel(dispatcher, name)

    dispatcher.calls.add = add_and_cancel

    with pytest.raises(CallError) as caught:
        list(client.rows(name, "ran"))

    assert caught.value.code == "SC-207"
    assert state.seen == []
    assert len(dispatcher.calls) == 0


@pytest.mark.parametrize(("reason", "code"), [("terminated", "SC-207"), ("deadline", "SC-213")])
def test_a_cancel_may_come_before_its_call(stand, state, own, reason, code):
    """A caller may go while its call is read: a call that is cancelled by then never begins."""
    dispatcher, client = own(stand)
    admit = dispatcher._admit

    def cancel_and_admit(request, session, reservation):
        dispatcher.cancel(CancelRequest("of another call", "terminated"), session)
        dispatcher.cancel(CancelRequest(request.id, reason), session)
        return admit(request, session, reservation)

    dispatcher._admit = cancel_and_admit

    with pytest.raises(CallError) as caught:
        list(client.rows("ending.nothing", "ran"))

    assert caught.value.code == code
    assert state.seen == []
    assert len(dispatcher.calls) == 0


# Clean-up


@pytest.mark.not_over_http("it cancels by closing the connection")
def test_clean_up_may_take_its_time(stand, state, client, elsewhere):
    """A cancelled stream's `finally` is not interrupted, and keeps nobody waiting."""
    stream = client.rows("ending.cleanUp")
    next(stream)
    cancel(stand.dispatcher, "ending.cleanUp")
    assert state.begun.wait(10)

    wait_until(lambda: stand.dispatcher.calls.busy == 1)
    assert elsewhere("test.echo", "meanwhile") == [["meanwhile"]]
    state.go.set()
    assert state.ended.wait(10)
    wait_until(lambda: stand.dispatcher.calls.busy == 0)


@pytest.mark.slow
@pytest.mark.not_over_http("it cancels by closing the connection")
def test_clean_up_without_end_is_ended(stand, state, client, monkeypatch):
    """A `finally` that takes longer than any should is interrupted."""
    monkeypatch.setattr("sidecypher.calls._open_calls.CLEANUP_SECONDS", 0.0)
    stream = client.rows("ending.cleanUp")
    next(stream)
    cancel(stand.dispatcher, "ending.cleanUp")
    assert state.begun.wait(10)

    wait_until(lambda: stand.dispatcher.calls.expire() or stand.dispatcher.calls.busy == 0)

    assert not state.ended.is_set()


@pytest.mark.not_over_http("it cancels by closing the connection")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [("ending.cleanUpAsync", []), ("ending.cleanUpAsync.batch", [[["slow"], ["slow"]]])],
)
def test_a_second_cancel_does_not_cut_the_clean_up_short(  # noqa: PLR0917
    stand, state, served, elsewhere, name, arguments
):
    """An async body is cancelled once; its `finally` may await, and is stuck while it does."""
    answer = served(name, *arguments)

    cancel(stand.dispatcher, name, "terminated")
    assert state.cleaning.wait(10)
    cancel(stand.dispatcher, name, "deadline")

    wait_until(lambda: stand.dispatcher.calls.stuck == 1)
    assert elsewhere("test.echo", "meanwhile") == [["meanwhile"]]
    state.go.set()
    with pytest.raises(CallError, match="was cancelled"):
        answer.result(10)
    assert state.ended.is_set()
    assert state.seen == []
    wait_until(lambda: stand.dispatcher.calls.stuck == 0)


def test_a_deadline_here_and_a_cancel_from_there_are_one(stand, state, background, own):
    """A caller that cancels at the deadline, which Python keeps too, ends no clean-up."""
    dispatcher, client = own(stand, timeout=1.0)
    answer = background(lambda: list(client.rows("ending.cleanUpAsync")))
    assert state.begun.wait(10)
    cancel(dispatcher, "ending.cleanUpAsync", "deadline")

    with pytest.raises(CallError) as caught:
        answer.result(10)

    assert caught.value.code == "SC-213"
    state.go.set()
    assert state.ended.wait(10)
    assert state.seen == []


def test_rows_of_a_batch_that_fails_clean_up(state, served):
    """The error of one row cancels each of the others once, whichever of them ends first."""
    answer = served("ending.cleanUpAsync.batch", [["slow"], ["quick"], ["fail"]])

    assert state.cleaning.wait(10)
    wait_until(lambda: "quick" in state.seen)
    state.go.set()

    with pytest.raises(CallError, match="ValueError"):
        answer.result(10)
    assert state.seen == ["quick"]
    assert state.ended.is_set()


@pytest.mark.not_over_http("it cancels by closing the connection")
@pytest.mark.parametrize("name", ["ending.cleanUpAsync", "ending.cleanUpStream"])
def test_an_async_clean_up_without_end_is_ended(  # noqa: PLR0917
    stand, state, client, background, monkeypatch, name
):
    """A `finally` that awaits for longer than any should is cancelled itself."""
    monkeypatch.setattr("sidecypher.calls.executors._async.CLEANUP_SECONDS", 0.0)
    stream = client.rows(name)
    answer = background(next, stream)
    if name == "ending.cleanUpStream":
        answer.result(10)
    else:
        assert state.begun.wait(10)

    cancel(stand.dispatcher, name)

    assert state.cleaning.wait(10)
    wait_until(lambda: state.seen == ["CancelledError"])
    wait_until(lambda: stand.dispatcher.calls.stuck == 0)
    assert not state.ended.is_set()


@pytest.mark.not_over_http("it closes its connection, which is noticed later")
def test_a_caller_that_wants_no_more_rows_lets_a_stream_clean_up(state, client):
    """`LIMIT` waits a moment for an async generator's `finally`, and does not cut it short."""
    stream = client.rows("ending.cleanUpStream")
    next(stream)

    stream.close()

    assert state.cleaning.wait(10)
    assert not state.ended.is_set()
    state.go.set()
    assert state.ended.wait(10)
    assert state.seen == []


# Leases


@pytest.mark.parametrize("name", ["ending.stream", "ending.streamAsync"])
def test_a_stream_that_nobody_reads_expires(stand, state, own, name):
    """When the lease is over the generator is closed, and who asks later is told so."""
    dispatcher, client = own(stand, lease_seconds=0.01)
    stream = client.rows(name)
    for _ in range(16):
        next(stream)

    wait_until(lambda: dispatcher.calls.expire() or state.ended.is_set())

    with pytest.raises(
        CallError, match=f"more rows of `{name}` were requested within 0.01 s"
    ) as caught:
        next(stream)
    assert caught.value.code == "SC-221"
    assert len(dispatcher.calls) == 0


def test_a_stream_within_its_lease_stays(stand, state, own):
    """A stream whose caller works with its rows is left alone."""
    dispatcher, client = own(stand, lease_seconds=60.0)
    stream = client.rows("ending.stream")
    next(stream)

    dispatcher.calls.expire()

    assert open_call(dispatcher, "ending.stream").state == "waiting"
    stream.close()
    assert state.ended.is_set()


def test_a_lease_begins_again_with_each_page(stand, own):
    """A stream that is read page by page may be older than its lease."""
    dispatcher, client = own(stand, lease_seconds=60.0)
    stream = client.rows("ending.stream")
    next(stream)
    [call] = dispatcher.calls
    call.started -= 61.0

    dispatcher.calls.expire()

    assert open_call(dispatcher, "ending.stream").state == "waiting"
    stream.close()


def test_the_next_page_renews_the_lease(stand, own):
    """A caller that asks in time, however late, has all of its lease again."""
    dispatcher, client = own(stand, lease_seconds=60.0)
    stream = client.rows("ending.stream")
    next(stream)
    [call] = dispatcher.calls
    call.idle_since -= 61.0

    while call.pages_begun < 2:
        next(stream)
    dispatcher.calls.expire()

    assert open_call(dispatcher, "ending.stream").state == "waiting"
    stream.close()


def test_the_time_that_a_page_takes_does_not_count_for_the_lease(stand, own, monkeypatch):
    """A stream becomes idle when its page is ready, even if it is looked at in that moment."""
    dispatcher, client = own(stand, lease_seconds=60.0)
    size, suspend = dispatcher._size, Call.suspend

    def size_late(call, rows):
        call.idle_since -= 61.0
        return size(call, rows)

    def suspend_and_expire(call, *deadline):
        suspend(call, *deadline)
        dispatcher.calls.expire()

    dispatcher._size = size_late
    monkeypatch.setattr(Call, "suspend", suspend_and_expire)
    stream = client.rows("ending.stream")

    next(stream)

    assert open_call(dispatcher, "ending.stream").state == "waiting"
    stream.close()


@pytest.mark.parametrize("name", ["ending.stream", "ending.streamAsync"])
def test_a_call_that_is_cancelled_with_its_page_is_not_left_open(stand, own, name):
    """A cancel after a page was checked ends the call at once: nobody asks for the next page."""
    dispatcher, client = own(stand)
    size = dispatcher._size

    def size_and_cancel(call, rows):
        counted = size(call, rows)
        cancel(dispatcher, name)
        return counted

    dispatcher._size = size_and_cancel

    stream = client.rows(name)

    next(stream)

    assert len(dispatcher.calls) == 0
    wait_until(lambda: dispatcher.calls.busy == 0)


def test_a_cancel_before_an_async_body_is_submitted_ends_it(
    stand, state, own, background, monkeypatch
):
    """A cancel that comes before the event loop has the body ends it at once."""
    monkeypatch.setattr("sidecypher.calls.executors._async.CLEANUP_SECONDS", 600.0)
    dispatcher, client = own(stand)
    submit = stand.loop.submit

    def cancel_and_submit(*arguments):
        cancel(dispatcher, "ending.cleanUpAsync")
        return submit(*arguments)

    monkeypatch.setattr(stand.loop, "submit", cancel_and_submit)
    answer = background(lambda: list(client.rows("ending.cleanUpAsync", "quick")))

    with pytest.raises(CallError, match="was cancelled"):
        answer.result(10)
    wait_until(lambda: dispatcher.calls.stuck == 0)


@pytest.mark.usefixtures("state")
def test_a_cancel_as_soon_as_an_async_body_is_submitted_ends_it(
    stand, own, background, monkeypatch
):
    """So does one that comes before the serving thread waits for the body."""
    monkeypatch.setattr("sidecypher.calls.executors._async.CLEANUP_SECONDS", 600.0)
    dispatcher, client = own(stand)
    submit = AsyncExecution._submit

    def submit_and_cancel(call, start):
        job = submit(call, start)
        cancel(dispatcher, "ending.cleanUpAsync")
        return job

    monkeypatch.setattr(AsyncExecution, "_submit", submit_and_cancel)
    answer = background(lambda: list(client.rows("ending.cleanUpAsync", "quick")))

    with pytest.raises(CallError, match="was cancelled"):
        answer.result(10)
    wait_until(lambda: dispatcher.calls.stuck == 0)


def test_a_body_that_is_served_has_no_lease(stand, state, served):
    """The lease is of streams that wait for their caller, not of bodies that work."""
    answer = served("ending.block")

    stand.dispatcher.calls.expire()

    assert not answer.done()
    state.go.set()
    assert answer.result(10) == [["never sent"]]


# Who runs


@pytest.mark.not_over_http("it has no user and no database")
def test_running_calls_tell_who_and_how_far(stand, state, client, background):
    """An open call shows its caller, its rows, its age and the progress its body told."""
    stream = client.rows("ending.progress")
    for _ in range(16):
        next(stream)
    waiting = open_call(stand.dispatcher, "ending.progress")
    answer = background(lambda: list(stream))
    assert state.begun.wait(10)
    running = open_call(stand.dispatcher, "ending.progress")
    state.go.set()

    assert answer.result(10) == [["last"]]
    assert (waiting.state, waiting.rows, waiting.done, waiting.total) == ("waiting", 16, 3, None)
    assert (running.state, running.rows, running.done, running.total) == ("running", 16, 40, 80.5)
    assert (running.user, running.database) == ("neo4j", "neo4j")
    assert 0 < waiting.seconds < running.seconds < 60


def test_progress_after_the_call_is_refused(state, rows):
    """A context that escaped tells nobody of progress any more."""
    state.go.set()
    rows("ending.progress")
    [context] = state.kept

    for use in (lambda: context.progress(1), context.check):
        with pytest.raises(CallError, match="outside of its call") as caught:
            use()
        assert caught.value.code == "SC-208"


def test_a_task_that_outlives_its_call_has_no_context(stand, state, rows):
    """What an async body leaves behind cannot use the transaction of a call that is over."""
    rows("ending.outlive")
    state.go.set()

    assert state.ended.wait(10)
    assert state.seen == ["ContextExpired"] * 3


def test_a_statement_that_was_asked_for_too_late_is_refused(state, rows):
    """A task whose call ends before its statement could run is told so, and waits for nothing."""
    for _ in range(50):
        state.reset()
        rows("ending.hurry")
        assert state.ended.wait(10)
        assert state.seen in ([], ["ContextExpired"])


@pytest.mark.not_over_http("it has no transaction")
def test_a_statement_that_was_given_up_does_not_run(rows, state, transaction, monkeypatch):
    """A cancelled `await ctx.run` that has not begun never begins; one under way is let finish."""
    run = transaction.run

    def run_slowly(asked):
        if asked.cypher == "UNDER WAY":
            state.begun.set()
            assert state.go.wait(10)
        return run(asked)

    monkeypatch.setattr(transaction, "run", run_slowly)

    assert rows("ending.giveUp") == [["True True"]]
    assert [asked.cypher for asked in transaction.asked] == ["UNDER WAY", "ANOTHER"]


def test_an_async_context_belongs_to_its_event_loop(stand, state, rows):
    """Another thread with a loop of its own gets the named error."""
    assert rows("fault.foreignLoop") == [["SC-208"]]


# Other shapes of calls


@pytest.mark.parametrize("name", ["ending.nothing", "ending.nothingAsync"])
def test_a_void_procedure_has_no_rows(state, rows, name):
    """A body that returns nothing gives no rows, and has run."""
    assert rows(name, "called") == []
    assert state.seen == ["called"]


def test_a_void_procedure_returns_nothing(rows):
    """A body annotated with None that returns something else is wrong."""
    with pytest.raises(CallError, match=r"`ending\.notNothing` returned a str") as caught:
        rows("ending.notNothing")

    assert caught.value.code == "SC-205"


def test_a_function_has_a_value(client):
    """A function is called by its kind and gives one value; defaults hold."""
    assert client.value("ending.join", "a") == "ab"
    assert client.value("ending.join", "a", "c") == "ac"


def test_a_function_has_no_transaction(client):
    """`ctx.run` in a function is refused by name."""
    with pytest.raises(CallError, match="A function has no transaction") as caught:
        client.value("ending.run")

    assert caught.value.code == "SC-209"


def test_procedures_are_no_functions(client, rows):
    """A name is looked up among the procedures or among the functions, never in both."""
    with pytest.raises(CallError, match=r"no function `test\.hang`"):
        client.value("test.hang", "x")
    with pytest.raises(CallError, match=r"no procedure `ending\.join`"):
        rows("ending.join", "x")


def test_a_swapped_registry_serves_the_next_call(stand, state, own):
    """Calls in flight end with what they have; the next one finds the new registry."""
    dispatcher, client = own(stand)
    stream = client.rows("ending.stream")
    next(stream)

    dispatcher.swap(Registry([]))

    for _ in range(40):
        next(stream)
    stream.close()
    with pytest.raises(CallError) as caught:
        list(client.rows("ending.stream"))
    assert caught.value.code == "SC-203"
