"""`@procedure` and `@function`: what an author writes above a typed Python function."""

import inspect
from collections.abc import Callable, Iterable
from typing import Any, Final, Never, NoReturn, TypeVar, get_args

from sidecypher.errors import SignatureError
from sidecypher.protocol.catalogue import (
    Availability,
    ColumnEntry,
    DefaultEntry,
    FunctionEntry,
    Mode,
    ParameterEntry,
    ProcedureEntry,
    signature_of,
)
from sidecypher.sdk.marks import note
from sidecypher.sdk.registry import MARK, Executor, Procedure
from sidecypher.sdk.signature.model import ReturnKind, Signature
from sidecypher.sdk.signature.names import check_procedure_name
from sidecypher.sdk.signature.reader import place_of, read_function_signature, read_signature

DEFAULT_TIMEOUT: Final = 30.0
"""Seconds a call may take when its procedure names no timeout."""

LONGEST_TIMEOUT: Final = 86_400.0
"""Seconds in a day; what takes longer is not a call."""

_Body = TypeVar("_Body", bound=Callable[..., Any])


def procedure(
    name: str,
    *,
    mode: Mode = "READ",
    timeout: float = DEFAULT_TIMEOUT,
    availability: Availability = "REQUIRED",
    executor: Executor | None = None,
    batch: bool | Callable[..., Any] = False,
    deprecated_by: str | None = None,
    admin: bool = False,
    eager: bool = False,
    **unknown: Never,
) -> Callable[[_Body], _Body]:
    """Make a typed Python function a Cypher procedure.

    The function stays callable as it is. Its annotations give the Cypher signature and the first
    line of its docstring the description.

    Args:
        name: Cypher name with a namespace, such as `kg.similar`.
        mode: What the body may do by `ctx.run`: READ, WRITE or SCHEMA.
        timeout: Seconds a call may spend inside Python and callbacks.
        availability: What Cypher gets without a sidecar: REQUIRED gives an error; OPTIONAL one row
            of nulls where a call always has one row, else no row; OFF gives the same at once.
        executor: `"process"` runs a plain body in a worker process. By default an `async def` runs
            on the event loop (`"async"`) and any other body on the thread that serves the call
            (`"thread"`).
        batch: Whether there shall be a `NAME.batch` that takes many rows at once; or a body for it.
        deprecated_by: What to call instead, or `""`; Neo4j then warns its callers.
        admin: Whether only administrators may call it.
        eager: Whether Neo4j shall finish what comes before the call first.
        **unknown: No other option; each is refused.

    Raises:
        SignatureError: At import, naming file, line and what to write.

    Example:
        >>> from sidecypher import Row
        >>> class Greeting(Row):
        ...     text: str
        >>> @procedure("demo.greet")
        ... def greet(name: str) -> Greeting:
        ...     return Greeting(text=f"Hello {name}")
    """
    return _decorate(procedure, describe, locals())


def function(
    name: str,
    *,
    timeout: float = DEFAULT_TIMEOUT,
    availability: Availability = "REQUIRED",
    deprecated_by: str | None = None,
    **unknown: Never,
) -> Callable[[_Body], _Body]:
    """Make a typed Python function a Cypher function, which expressions can use.

    It returns one value. It may take the context, but `ctx.run` raises `NoTransaction` in it.

    Args:
        name: Cypher name with a namespace, such as `kg.slug`.
        timeout: Seconds an evaluation may take.
        availability: What Cypher gets without a sidecar: REQUIRED gives an error, OPTIONAL null,
            OFF null at once.
        deprecated_by: What to use instead, or `""`; Neo4j then warns its callers.
        **unknown: No other option; each is refused, also one that only procedures have.

    Raises:
        SignatureError: At import, naming file, line and what to write.

    Example:
        >>> @function("demo.slug")
        ... def slug(title: str) -> str:
        ...     return "-".join(title.lower().split())
    """
    return _decorate(function, describe_function, locals())


def _decorate(
    decorator: Callable[..., Any], describe: Callable[..., Procedure], arguments: dict[str, Any]
) -> Callable[[_Body], _Body]:
    """Return what attaches a `Procedure` to a body; `arguments` is all the decorator was given."""
    if not isinstance(arguments["name"], str):
        raise SignatureError(
            f"`@{decorator.__name__}` was used without a name",
            hint=f'Write `@{decorator.__name__}("kg.score")`, say.',
        )

    def decorate(body: _Body) -> _Body:
        described = describe(body, **arguments)
        setattr(body, MARK, described)
        note(described)
        return body

    return decorate


def describe(
    body: Callable[..., Any],
    name: str,
    mode: Mode = "READ",
    timeout: float = DEFAULT_TIMEOUT,
    *,
    availability: Availability = "REQUIRED",
    executor: Executor | None = None,
    batch: bool | Callable[..., Any] = False,
    deprecated_by: str | None = None,
    admin: bool = False,
    eager: bool = False,
    unknown: Iterable[str] = (),
) -> Procedure:
    """Return the `Procedure` that `@procedure` attaches to `body`.

    Raises:
        SignatureError: Name, options or annotations cannot be used.
    """
    check = _Check(body, name)
    check.unknown(unknown, procedure)
    check.choice("mode", mode, Mode)
    check.timeout(timeout)
    check.choice("availability", availability, Availability)
    check.deprecated_by(deprecated_by)
    chosen = check.executor(executor)
    signature = read_signature(body)
    if batch is not False:
        check.batch(batch, signature, chosen)
    parameters = _parameters(signature)
    columns = tuple(
        ColumnEntry(name=column.name, type=str(column.type), description=column.description)
        for column in signature.columns
    )
    entry = ProcedureEntry(
        name=name,
        mode=mode,
        description=_description(body),
        timeout_ms=_milliseconds(timeout),
        signature=signature_of(name, mode, parameters, columns),
        parameters=parameters,
        columns=columns,
        single=signature.returns is ReturnKind.ROW,
        availability=availability,
        eager=eager,
        admin=admin,
        deprecated_by=deprecated_by,
    )
    return Procedure(body, signature, entry, chosen, batch)


def describe_function(
    body: Callable[..., Any],
    name: str,
    timeout: float = DEFAULT_TIMEOUT,
    *,
    availability: Availability = "REQUIRED",
    deprecated_by: str | None = None,
    unknown: Iterable[str] = (),
) -> Procedure:
    """Return the `Procedure` that `@function` attaches to `body`.

    Raises:
        SignatureError: Name, options or annotations cannot be used.
    """
    check = _Check(body, name)
    check.unknown(unknown, function)
    check.timeout(timeout)
    check.choice("availability", availability, Availability)
    check.deprecated_by(deprecated_by)
    signature = read_function_signature(body)
    parameters = _parameters(signature)
    result = str(signature.columns[0].type)
    entry = FunctionEntry(
        name=name,
        description=_description(body),
        timeout_ms=_milliseconds(timeout),
        signature=signature_of(name, "FUNCTION", parameters, [ColumnEntry("value", result)]),
        parameters=parameters,
        result=result,
        availability=availability,
        deprecated_by=deprecated_by,
    )
    return Procedure(body, signature, entry, check.executor(None))


def _parameters(signature: Signature) -> tuple[ParameterEntry, ...]:
    return tuple(
        ParameterEntry(
            name=parameter.name,
            type=str(parameter.type),
            nullable=parameter.type.nullable,
            default=None
            if parameter.default is None
            else DefaultEntry(text=parameter.default.text, any=parameter.default.by_null),
        )
        for parameter in signature.parameters
    )


def _description(body: Callable[..., Any]) -> str:
    return (inspect.getdoc(body) or "").partition("\n")[0]


def _milliseconds(timeout: float) -> int:
    return max(1, round(timeout * 1000))


class _Check:
    """Checks what a decorator was told about one body; knows its place for the errors."""

    def __init__(self, body: Callable[..., Any], name: str) -> None:
        self.body = body
        self.name = check_procedure_name(name)
        self.place = place_of(body)

    def refuse(self, what: str, hint: str) -> NoReturn:
        raise SignatureError(f"`{self.name}` ({self.place}) {what}", hint=hint)

    def unknown(self, options: Iterable[str], decorator: Callable[..., Any]) -> None:
        for option in options:
            known = [
                f"`{parameter.name}`"
                for parameter in inspect.signature(decorator).parameters.values()
                if parameter.kind is parameter.KEYWORD_ONLY
            ]
            self.refuse(
                f"has the option `{option}`, which `@{decorator.__name__}` does not take",
                f"Leave it out; there are {', '.join(known[:-1])} and {known[-1]}.",
            )

    def choice(self, option: str, value: object, allowed: Any) -> None:
        choices = get_args(allowed)
        if value not in choices:
            hint = f"Use {', '.join(choices[:-1])} or {choices[-1]}."
            self.refuse(f"has no {option} `{value}`", hint)

    def timeout(self, timeout: float) -> None:
        if not isinstance(timeout, int | float) or not 0 < timeout <= LONGEST_TIMEOUT:
            self.refuse(
                "has a timeout that cannot be kept",
                "Give seconds above 0 and up to 86 400 (a day).",
            )

    def deprecated_by(self, successor: object) -> None:
        if successor is not None and not isinstance(successor, str):
            self.refuse(
                "has a `deprecated_by` that is not text",
                'Name what to call instead, or write `deprecated_by=""`.',
            )

    def executor(self, executor: Executor | None) -> Executor:
        is_async = inspect.iscoroutinefunction(self.body) or inspect.isasyncgenfunction(self.body)
        if executor is None:
            return "async" if is_async else "thread"
        self.choice("executor", executor, Executor)
        if executor == "async" and not is_async:
            self.refuse(
                "is a plain function with the executor `async`",
                'Write `async def`, or leave `executor="async"` out.',
            )
        if executor != "async" and is_async:
            self.refuse(
                f"is an async function with the executor `{executor}`",
                f'Write a plain `def`, or leave `executor="{executor}"` out: '
                "async bodies run on the event loop.",
            )
        return executor

    def batch(self, batch: object, signature: Signature, executor: Executor) -> None:
        if batch is not True:
            self.own_batch(batch, executor)
        for column in signature.columns:
            if column.name == "index":
                self.refuse(
                    "has a batch and a column `index`, which a batch adds itself",
                    "Call the column something else.",
                )
            if column.name == "error" and column.type.name != "MAP":
                self.refuse(
                    "has a batch, which tells errors in a column `error`, and its own is not a MAP",
                    "Call the column something else, or make it a `dict[str, Any] | None`.",
                )

    def own_batch(self, batch: object, executor: Executor) -> None:
        if not inspect.isfunction(batch):
            self.refuse(
                "has a batch that is neither a boolean nor a function",
                "Write `batch=True`, or give a function of `ctx` and `rows`.",
            )
        try:
            inspect.signature(batch).bind(object(), object())
        except TypeError:
            self.refuse(
                f"has the batch `{batch.__qualname__}`, which does not take two arguments",
                "Write `def many(ctx: Context, rows: list[tuple]) -> list`, say.",
            )
        if inspect.isgeneratorfunction(batch) or inspect.isasyncgenfunction(batch):
            self.refuse(
                f"has the batch `{batch.__qualname__}`, which is a generator",
                "Return a list with one entry for each row.",
            )
        if executor == "process" and inspect.iscoroutinefunction(batch):
            self.refuse(
                f"has the async batch `{batch.__qualname__}` and the executor `process`",
                "Write a plain `def`, or leave one of the two out.",
            )
