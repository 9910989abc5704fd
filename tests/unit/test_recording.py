"""A failing call can be recorded, and run again without Neo4j."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sidecypher import Context, ProcedureError, Row, function, procedure
from sidecypher.calls._open_calls import OpenCalls
from sidecypher.calls.dispatcher import Session
from sidecypher.calls.executors.loop import EventLoop
from sidecypher.errors import CallError, RecordingError
from sidecypher.host.limits import Limits
from sidecypher.operations.recording import Recording, RecordingDispatcher
from sidecypher.protocol import envelope
from sidecypher.protocol.envelope import (
    CallReply,
    CallRequest,
    CloseRequest,
    CursorRequest,
    Hello,
    PageReply,
    PageRequest,
    RunError,
    RunReply,
    RunRequest,
)
from sidecypher.sdk.registry import Kind, Registry, procedures_in
from sidecypher.sdk.resources import Resources
from sidecypher.telemetry.calls import Telemetry
from sidecypher.testing import UnexpectedStatement, replay


class Name(Row):
    name: str


@procedure("demo.names")
def names(ctx: Context, least: int) -> Iterator[Name]:
    for record in ctx.run("MATCH (n) WHERE n.age >= $least RETURN n.name AS name", least=least):
        if record["name"] is None:
            raise ProcedureError("A person has no name", code="demo.no-name")
        yield Name(name=record["name"])


@procedure("demo.names")
def mended(ctx: Context, least: int) -> Iterator[Name]:
    for record in ctx.run("MATCH (n) WHERE n.age >= $least RETURN n.name AS name", least=least):
        yield Name(name=record["name"] or "nobody")


@procedure("demo.names")
def many(least: int) -> Iterator[Name]:
    for _ in range(1000):
        yield Name(name="Ann")


@procedure("demo.names")
def other(ctx: Context, least: int) -> Iterator[Name]:
    for record in ctx.run("MATCH (n) RETURN n.name AS name"):
        yield Name(name=record["name"])


@function("demo.names")
def first_name(least: int) -> str:
    if least > 17:
        raise ProcedureError("Nobody is that old", code="demo.nobody")
    return "Ann"


@function("demo.names")
def mended_function(least: int) -> str:
    return "nobody"


class Graph:
    """Answers a statement in two pages: a name, then none."""

    def __call__(self, method: str, request: RunRequest | CursorRequest) -> RunReply:
        if method == "run":
            return RunReply(["name"], [["Ann"]], more=True)
        return RunReply(["name"], [[None]])


class Fails:
    def __call__(self, method: str, request: RunRequest | CursorRequest) -> RunReply:
        return RunReply(error=RunError("Neo.ClientError.Statement.SyntaxError", "Invalid input"))


@pytest.fixture
def recording(tmp_path):
    """Make a recording dispatcher of one procedure."""
    loop, resources = EventLoop(), Resources()

    def make(body: Any) -> RecordingDispatcher:
        holder = type("module", (), {"body": body})
        return RecordingDispatcher(
            Registry(procedures_in([holder])),
            loop,
            resources,
            Telemetry(),
            Limits(),
            folder=tmp_path / "recordings",
        )

    yield make
    loop.stop([resources.stop])


@pytest.fixture
def record(recording, tmp_path):
    """Call a procedure in a recording sidecar and return what it has written."""

    def call(
        body: Any, answer: Any, *arguments: Any, call_id: str = "jvm-1", kind: Kind = "procedure"
    ) -> list[Path]:
        dispatcher, session = recording(body), Session(answer)
        reply = begin(dispatcher, session, *arguments, call_id=call_id, kind=kind)
        while isinstance(reply, PageReply) and reply.more:
            reply = dispatcher.page(PageRequest(call_id, 5000), session)
        return list((tmp_path / "recordings").glob("*"))

    return call


def begin(
    dispatcher: RecordingDispatcher,
    session: Session,
    *arguments: Any,
    call_id: str = "jvm-1",
    kind: Kind = "procedure",
) -> CallReply:
    """Ask for the first page of a call."""
    dispatcher.hello(Hello(envelope.VERSION, "jvm", "call", ""), session)
    found = dispatcher.registry.get("demo.names", kind)
    request = CallRequest(
        id=call_id,
        kind=kind,
        name=found.name,
        signature=found.entry.signature,
        args=list(arguments),
        remaining_ms=5000,
        mode="READ",
        database="neo4j",
        user="ann",
    )
    return dispatcher.call(request, session)


def test_a_failing_call_is_written_with_all_it_heard(record):
    """A recording has the arguments, the statements with all pages, and the error."""
    (file,) = record(names, Graph(), 18)

    recording = Recording.read(file)
    assert (recording.name, recording.args, recording.user) == ("demo.names", [18], "ann")
    assert [exchange.method for exchange in recording.exchanges] == ["run", "next"]
    assert recording.error.code == "demo.no-name"
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700


def test_a_call_that_succeeds_is_not_written(record):
    """Without an error there is no recording."""
    assert record(mended, Graph(), 18) == []


def test_two_streams_may_forget_the_same_ended_call(recording, monkeypatch):
    """A page of one stream does not fail if another's forgets the call that it looks at."""
    contains = OpenCalls.__contains__

    def contains_but_another_forgets(calls: OpenCalls, call_id: str) -> bool:
        if call_id == "ended":
            dispatcher._recordings.pop(call_id, None)
        return contains(calls, call_id)

    dispatcher, session = recording(many), Session(Graph())
    dispatcher._recordings["ended"] = None
    monkeypatch.setattr(OpenCalls, "__contains__", contains_but_another_forgets)

    reply = begin(dispatcher, session, 18)

    assert isinstance(reply, PageReply)
    assert reply.more
    dispatcher.close(CloseRequest("jvm-1"), session)


def test_a_recording_gives_the_same_error_again(record):
    """`replay` with the same code fails as the call did, without a server."""
    (file,) = record(names, Graph(), 18)

    with pytest.raises(CallError, match="A person has no name") as caught:
        replay(file, names)

    assert caught.value.code == "demo.no-name"


def test_a_recording_tells_that_the_code_is_mended(record):
    """`replay` with mended code gives rows from the recorded records."""
    (file,) = record(names, Graph(), 18)

    assert replay(file, mended) == [{"name": "Ann"}, {"name": "nobody"}]


def test_a_recorded_function_is_run_as_a_function(record):
    """`replay` tells a function from a procedure of the same name; it gives a value, not rows."""
    (file,) = record(first_name, Graph(), 18, kind="function")

    with pytest.raises(CallError, match="Nobody is that old"):
        replay(file, first_name, names)
    assert replay(file, mended_function, names) == "nobody"


def test_a_failed_statement_fails_again(record):
    """A recorded failure of a statement keeps its status."""
    (file,) = record(names, Fails(), 18)

    with pytest.raises(CallError, match="Invalid input") as caught:
        replay(file, names)

    assert caught.value.details == {"neo4jCode": "Neo.ClientError.Statement.SyntaxError"}


def test_another_statement_than_the_recorded_is_told(record):
    """A body that asks something else than when it was recorded gets a clear error."""
    (file,) = record(names, Graph(), 18)

    with pytest.raises(UnexpectedStatement, match="was not recorded at this point"):
        replay(file, other)


def test_a_peers_id_names_no_other_folder(record, tmp_path):
    """A call id with path separators stays within the folder of recordings."""
    (file,) = record(names, Graph(), 18, call_id="../../escaped")

    assert file.parent == tmp_path / "recordings"
    assert file.name == "______escaped.json"


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b'{"v": 2}'])
def test_a_file_that_is_no_recording_is_refused_by_name(tmp_path, content):
    """Whatever is in it, the error names the file, and not what it holds."""
    file = tmp_path / "call.json"
    file.write_bytes(content)

    with pytest.raises(RecordingError, match=r"`call\.json` is not a recording"):
        replay(file, names)


def test_a_missing_recording_is_told_by_name(tmp_path):
    """A wrong path is a clear error."""
    with pytest.raises(RecordingError, match=r"`gone\.json` cannot be read"):
        Recording.read(tmp_path / "gone.json")
