"""`@step`: a Python function that a step of a `session.*` workflow can name."""

import asyncio
import contextvars
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, TypeVar

from sidecypher.errors import ArgumentError, ProcedureFailed, ValueTypeError
from sidecypher.host.threads import in_thread
from sidecypher.protocol.catalogue import FunctionEntry
from sidecypher.sdk.declarations import declare
from sidecypher.sdk.registry import Procedure
from sidecypher.sdk.resources import Resources
from sidecypher.sdk.signature.names import check_name
from sidecypher.sdk.signature.reader import read_function_signature
from sidecypher.values.coders import decode_any, encode_any

_Resource = TypeVar("_Resource")
_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class StepContext:
    """The step of a session as its function sees it; `Steps.context` makes one.

    Attributes:
        session_id: Id of the session.
        step_id: Id of the step in the workflow.
        cycle: Number of this run of the step in its session.
        history: The messages of the conversation so far, each with `role` and `content`.
    """

    session_id: str
    step_id: str
    cycle: int
    history: list[dict[str, Any]]
    _resources: Resources = field(default_factory=Resources, repr=False)

    @property
    def key(self) -> str:
        """The same text each time that this step is tried in this cycle.

        If your function changes anything outside of Neo4j, send it as the idempotency key.
        """
        return f"{self.session_id}/{self.step_id}/{self.cycle}"

    def resource(self, kind: type[_Resource]) -> _Resource:
        """Return the sidecar's one shared object of class `kind`, as `ctx.resource` does."""
        return self._resources.get(kind, is_loop=_is_on_loop())


def _is_on_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One Python function that a step of a workflow can name."""

    name: str
    function: Callable[..., Any]
    _described: Procedure = field(repr=False)
    kind: Literal["step"] = "step"

    @property
    def is_async(self) -> bool:
        """Whether the function is `async def`."""
        return self._described.is_async

    async def run(self, context: StepContext, given: Mapping[str, Any]) -> Any:
        """Call the function and return its value as Cypher would see it.

        A plain function runs on a thread, where it cannot be interrupted.

        Args:
            context: The step, for a function that accepts it.
            given: The arguments by Cypher name. Missing ones have their defaults.

        Raises:
            ArgumentError: An argument is unknown, is missing, or has another type.
            RowError: The value has another type than the function declares.
            CallError: The function tried to end the process.
        """
        described = self._described
        arguments = described.arguments(described.by_position(self._encoded(given)))
        if described.signature.takes_context:
            arguments.insert(0, context)
        call = partial(self.function, *arguments)
        try:
            value = await (call() if self.is_async else _called_in_thread(call))
        except (KeyboardInterrupt, SystemExit) as error:
            # It would end the event loop, and with it all calls.
            raise ProcedureFailed(
                f"The step function `{self.name}` raised {type(error).__name__}"
            ) from error
        [encoded] = described.encode_row(value)
        return decode_any(encoded)

    def _encoded(self, given: Mapping[str, Any]) -> dict[str, Any]:
        encoded = {}
        for name, value in given.items():
            try:
                encoded[name] = encode_any(value)
            except ValueTypeError as error:
                raise ArgumentError(
                    f"The argument `{name}` of `{self.name}` {error.message}"
                ) from None
        return encoded


async def _called_in_thread(call: Callable[[], Any]) -> Any:
    # Not `asyncio.to_thread`: its threads are few, and delay the end of the process.
    started = in_thread(partial(_called, contextvars.copy_context(), call), "sidecypher-step")
    return await asyncio.wrap_future(started)


def _called(variables: contextvars.Context, call: Callable[[], Any]) -> Any:
    try:
        return variables.run(call)
    except StopIteration as error:
        # A future of asyncio cannot hold it, and whoever awaits it would wait forever.
        raise RuntimeError("The function raised StopIteration") from error


class Steps:
    """The functions of steps that are in service; `ctx.resource(Steps)` returns them.

    Example:
        >>> async def run(ctx):  # doctest: +SKIP
        ...     steps = ctx.resource(Steps)
        ...     context = steps.context(session_id="s-1", step_id="mood", cycle=1)
        ...     return await steps.get("analyze.sentiment").run(context, {"text": "Fine"})
    """

    def __init__(self, steps: Callable[[], Mapping[str, Step]], resources: Resources) -> None:
        self._steps = steps
        self._resources = resources

    def get(self, name: str) -> Step | None:
        """Return the step function called `name`, or None if there is none now."""
        return self._steps().get(name)

    def names(self) -> list[str]:
        """Return the names of all step functions, sorted."""
        return sorted(self._steps())

    def context(
        self,
        *,
        session_id: str,
        step_id: str,
        cycle: int,
        history: Sequence[Mapping[str, Any]] = (),
    ) -> StepContext:
        """Return the context for one run of a step, with the shared objects of the sidecar."""
        messages = [dict(message) for message in history]
        return StepContext(session_id, step_id, cycle, messages, self._resources)


def step(name: str) -> Callable[[_Function], _Function]:
    """Make a typed Python function one that a step of a workflow can name.

    The function stays callable as it is. Its parameters come from the step's MAP of arguments, by
    Cypher name. It returns one value. The first parameter may be annotated `StepContext`.

    Args:
        name: Name with a namespace, such as `analyze.sentiment`.

    Raises:
        SignatureError: At import, with file, line and the fix.

    Example:
        >>> @step("analyze.sentiment")
        ... def sentiment(text: str, scale: float = 1.0) -> float:
        ...     return scale if "good" in text else -scale
    """
    check_name(name, "step")

    def decorate(function: _Function) -> _Function:
        signature = read_function_signature(function, StepContext)
        # Neo4j does not see a step: this entry has only what errors show.
        entry = FunctionEntry(
            name=name,
            description="",
            timeout_ms=0,
            signature="",
            parameters=(),
            result=str(signature.columns[0].type),
        )
        declare(Step(name, function, Procedure(function, signature, entry)))
        return function

    return decorate
