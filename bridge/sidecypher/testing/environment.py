"""`ProcedureEnvironment`: procedures run as in the sidecar, without Neo4j."""

import contextvars
import tempfile
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal, Self

import structlog

from sidecypher.calls.dispatcher import Dispatcher
from sidecypher.calls.executors.loop import EventLoop
from sidecypher.errors import CypherError, ProtocolError, RowError, UnknownProcedure
from sidecypher.host.credentials import load_credentials
from sidecypher.host.limits import Limits
from sidecypher.loading.loader import Loaded, load
from sidecypher.protocol.envelope import (
    CallBack,
    CallBackRequest,
    CursorRequest,
    RunError,
    RunReply,
)
from sidecypher.sdk.batch.variants import with_batches
from sidecypher.sdk.call import no_transaction
from sidecypher.sdk.declarations import declared_in, mark_of
from sidecypher.sdk.registry import Kind, Procedure, Registry, procedures_in
from sidecypher.sdk.resources import Resources
from sidecypher.sdk.results import Record
from sidecypher.sdk.steps import Step, Steps
from sidecypher.telemetry.calls import Telemetry, configure_logging
from sidecypher.testing.wire import WireClient, callback_handler, connect_unix
from sidecypher.transport.listeners import UnixListener
from sidecypher.transport.memory import Client, Send, memory
from sidecypher.transport.py4j import Py4JServer
from sidecypher.values.coders import decode_map, encode_any

Run = Callable[[str, Mapping[str, Any]], list[Record]]
"""Mock of the caller's transaction: accepts a statement and parameters, returns records."""

Transport = Literal["memory", "py4j"]
"""Path of calls to the sidecar's code: directly, or over its real socket."""


class ProcedureEnvironment:
    """An environment that runs procedures as the sidecar does, without Neo4j.

    Args:
        functions: Functions decorated with `@procedure`, `@function` or `@step`.
        folders: Folders of further procedures; they also load those of installed packages.
        run: Answers `ctx.run`; without it `ctx.run` raises `NoTransaction`.
        timeout: Seconds each call, and each run of a step, may take.
        transport: `memory`, or `py4j` to go through a real socket as Neo4j does.

    Example:
        >>> from sidecypher import Row, procedure
        >>> class Twice(Row):
        ...     value: int
        >>> @procedure("demo.twice")
        ... def twice(value: int) -> Twice:
        ...     return Twice(value=2 * value)
        >>> with ProcedureEnvironment(twice) as environment:
        ...     environment.call("demo.twice", 21)
        [{'value': 42}]
    """

    def __init__(
        self,
        *functions: Callable[..., Any],
        folders: Iterable[Path | str] = (),
        run: Run | None = None,
        timeout: float = 30.0,
        transport: Transport = "memory",
    ) -> None:
        if not structlog.is_configured():
            configure_logging("WARNING", "console")
        loaded = _loaded(functions, list(map(Path, folders)))
        self._registry = loaded.registry
        self._left_out = loaded.left_out
        self._timeout = timeout
        self._ends = ExitStack()
        self._loop, resources, telemetry = EventLoop(), Resources(), Telemetry()
        self._ends.callback(self._loop.stop, [resources.stop])
        self._steps = Steps(lambda: loaded.steps, resources)
        resources.provide(self._steps)
        dispatcher = Dispatcher(self._registry, self._loop, resources, telemetry, Limits())
        call_back = no_transaction if run is None else _answer_with(run)
        if transport == "memory":
            send = memory(dispatcher, call_back)
        else:
            send = self._wire(dispatcher, call_back, telemetry)
        self._client = Client(
            send, self._signatures("procedure"), timeout, functions=self._signatures("function")
        )

    def _signatures(self, kind: Kind) -> dict[str, str]:
        return {found.name: found.entry.signature for found in self._registry if found.kind == kind}

    def _wire(self, dispatcher: Dispatcher, call_back: CallBack, telemetry: Telemetry) -> Send:
        """Return a function that sends requests over the sidecar's real socket."""
        folder = self._ends.enter_context(tempfile.TemporaryDirectory())
        credentials = load_credentials(Path(folder))
        listener = UnixListener(Path(folder) / "socket")
        server = Py4JServer(
            dispatcher,
            listeners=[listener],
            token=credentials.token,
            limits=Limits(),
            telemetry=telemetry,
        )
        self._ends.callback(server.stop)
        server.start()
        line = WireClient(
            connect_unix(listener.path), credentials.token, callback_handler(call_back)
        )
        self._ends.callback(line.close)
        return line.ask

    def call(self, name: str, *arguments: Any) -> list[Record]:
        """Call a procedure and return its rows, each a dict by column name.

        Raises:
            CallError: The error that Cypher would see, with its code.
        """
        found = self._found(name, "procedure")
        columns = [column.name for column in found.signature.columns]
        return [dict(zip(columns, row, strict=True)) for row in self._client.rows(name, *arguments)]

    def value(self, name: str, *arguments: Any) -> Any:
        """Call a function and return its value.

        Raises:
            CallError: The error that Cypher would see, with its code.
        """
        self._found(name, "function")
        return self._client.value(name, *arguments)

    def _found(self, name: str, kind: Kind) -> Procedure:
        try:
            return self._registry.get(name, kind)
        except UnknownProcedure as error:
            reasons = "; ".join(f"`{each}`: {why}" for each, why in self._left_out.items())
            hint = f"These could not be loaded: {reasons}" if reasons else "Pass its function."
            raise UnknownProcedure(error.message, hint=hint) from None

    def run_step(
        self,
        name: str,
        given: Mapping[str, Any],
        *,
        session_id: str = "test",
        step_id: str = "step",
        cycle: int = 0,
        history: Sequence[Mapping[str, Any]] = (),
    ) -> Any:
        """Run the function of a step as a session does, and return its value.

        Args:
            name: Its name, such as `analyze.sentiment`.
            given: The arguments by Cypher name.
            session_id: What its `StepContext` says, and so do those below.
            step_id: Id of the step.
            cycle: Number of this run of the step.
            history: The messages of the conversation so far.

        Raises:
            UnknownProcedure: There is no step of this name.
            ArgumentError: An argument is unknown, is missing, or has another type.
            RowError: The value has another type than the function declares.
            TimeoutError: It took longer than `timeout`.

        Example:
            >>> from sidecypher import step
            >>> @step("demo.add")
            ... def add(first: int, second: int = 1) -> int:
            ...     return first + second
            >>> with ProcedureEnvironment(add) as environment:
            ...     environment.run_step("demo.add", {"first": 41})
            42
        """
        step = self._steps.get(name)
        if step is None:
            raise UnknownProcedure(
                f"There is no step `{name}`",
                hint=f"There are {', '.join(self._steps.names()) or 'none'}.",
            )
        context = self._steps.context(
            session_id=session_id, step_id=step_id, cycle=cycle, history=history
        )
        return self._loop.run(
            lambda: step.run(context, given), contextvars.copy_context(), self._timeout
        )

    def close(self) -> None:
        """Stop the event loop, the shared resources and the socket."""
        self._ends.close()

    def __enter__(self) -> Self:
        """Return the environment."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the environment."""
        self.close()


def _loaded(functions: Iterable[Callable[..., Any]], folders: list[Path]) -> Loaded:
    for each in functions:
        if not any(hasattr(each, mark_of(kind)) for kind in (Procedure, Step)):
            raise TypeError(
                f"`{getattr(each, '__name__', each)}` is not decorated as a procedure, a function "
                "or a step; `folders` takes folders"
            )
    module = types.ModuleType("functions")
    vars(module).update({str(index): function for index, function in enumerate(functions)})
    in_folders = load(folders) if folders else Loaded(Registry([]))
    procedures = [*with_batches(procedures_in([module])), *in_folders.registry]
    steps = {each.name: each for each in declared_in([module], Step)}
    return Loaded(Registry(procedures), in_folders.parts, steps={**in_folders.steps, **steps})


def _answer_with(run: Run) -> CallBack:
    def answer(_method: str, request: CallBackRequest) -> RunReply:
        if isinstance(request, CursorRequest):
            # Each answer is one page, so only an earlier cursor could ask for another.
            raise ProtocolError("A result of this environment has no further page")
        try:
            records = run(request.cypher, decode_map(request.params))
        except CypherError as error:
            return RunReply(error=RunError(error.neo4j_code, error.message))
        columns = list(records[0]) if records else []
        for number, record in enumerate(records, start=1):
            if record.keys() != records[0].keys():
                raise RowError(
                    f"Record {number} of a mocked statement has other columns than the first one",
                    hint="Give each record the same columns, as Neo4j does; null is None.",
                )
        rows = [[encode_any(record[column]) for column in columns] for record in records]
        return RunReply(columns, rows)

    return answer
