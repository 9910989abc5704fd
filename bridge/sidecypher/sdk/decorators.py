"""`@procedure` and `@function`: decorators of typed Python functions."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal, Never, NoReturn, TypeVar, get_args

from sidecypher.errors import SignatureError
from sidecypher.protocol.catalogue import (
    Availability,
    CacheScope,
    ColumnEntry,
    DefaultEntry,
    FunctionEntry,
    Mode,
    ParameterEntry,
    ProcedureEntry,
    signature_of,
)
from sidecypher.sdk.batch.columns import ColumnsProcedure
from sidecypher.sdk.declarations import declare
from sidecypher.sdk.registry import IN_WORKERS, Executor, Procedure, RayOptions, is_async
from sidecypher.sdk.signature.model import ReturnKind, Signature
from sidecypher.sdk.signature.names import check_procedure_name
from sidecypher.sdk.signature.reader import (
    place_of,
    read_columns_signature,
    read_function_signature,
    read_signature,
)

DEFAULT_TIMEOUT: Final = 30.0
"""Longest time of a call, in seconds, if its procedure sets no timeout."""

LONGEST_TIMEOUT: Final = 86_400.0
"""The longest timeout of a call: a day, in seconds."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


def procedure(
    name: str,
    *,
    mode: Mode = "READ",
    timeout: float = DEFAULT_TIMEOUT,
    availability: Availability = "REQUIRED",
    executor: Executor | None = None,
    batch: bool | Callable[..., Any] | Literal["columns"] = False,
    deprecated_by: str | None = None,
    admin: bool = False,
    eager: bool = False,
    cache: float | None = None,
    cache_scope: CacheScope | None = None,
    project: str = "",
    resources: Mapping[str, float] | None = None,
    actor: bool = False,
    max_actors: int | None = None,
    retryable: bool = False,
    **unknown: Never,
) -> Callable[[_Function], _Function]:
    """Make a typed Python function a Cypher procedure.

    The function stays callable as it is. Its annotations become the Cypher signature, and the first
    line of its docstring the description.

    Args:
        name: Cypher name with a namespace, such as `kg.similar`.
        mode: Access of `ctx.run` to the graph: READ, WRITE or SCHEMA.
        timeout: Seconds a call may spend inside Python and callbacks.
        availability: Result without a sidecar. REQUIRED raises an error. OPTIONAL returns one row
            of nulls if a call always returns one row, else no row. OFF returns the same at once.
        executor: `"process"` runs a plain function in a worker process, `"ray"` on a Ray cluster.
            By default an `async def` runs on the event loop (`"async"`) and any other function on
            the thread that serves the call (`"thread"`).
        batch: True adds a `NAME.batch` that accepts many rows at once; or a function for it. With
            `"columns"` the function itself takes a list for each parameter, and returns `Columns`.
        deprecated_by: The successor to call, or `""`; Neo4j then warns the callers.
        admin: Whether only administrators may call it.
        eager: Whether Neo4j finishes the preceding operations before the call.
        cache: Seconds for which Neo4j may give the rows of a call again for equal arguments, unless
            the function says it with `ctx.cache`; 0 for calls that do not say it. None for never.
            Rows are not kept if the function used `ctx.run`, or if they need more than one page.
        cache_scope: Who gets rows that are kept: the `"user"` of the call (the default), or `"all"`
            users.
        project: A statement that runs in the caller's transaction before the function starts. Its
            parameters are the arguments, by their Cypher names; its result is `ctx.projection`, an
            Arrow table.
        resources: What Ray reserves for a call: `num_cpus` (1 by default, for actors 0),
            `num_gpus`, `memory` in bytes, or a resource that your cluster names. Other executors
            ignore this and the options below, so that one word moves a procedure.
        actor: Whether calls run in Ray processes that are kept for this procedure alone, with what
            they have loaded. Each runs one call at a time.
        max_actors: How many of these processes there may be; 1 by default.
        retryable: Whether a call may run again, up to twice, when Ray has lost its process or node
            before the first row.
        **unknown: No other option; each is refused.

    Raises:
        SignatureError: At import, with file, line and the fix.

    Example:
        >>> from sidecypher import Row
        >>> class Greeting(Row):
        ...     text: str
        >>> @procedure("demo.greet")
        ... def greet(name: str) -> Greeting:
        ...     return Greeting(text=f"Hello {name}")
    """
    _check_is_called(procedure, name)

    def decorate(decorated: _Function) -> _Function:
        check = _Check(decorated, name)
        check.unknown(unknown, procedure)
        check.choice("mode", mode, Mode)
        check.timeout(timeout)
        check.choice("availability", availability, Availability)
        check.deprecated_by(deprecated_by)
        if cache_scope is not None:
            check.cache_scope(cache_scope, cache)
        if cache is not None:
            check.cache(cache, mode)
        chosen = check.executor(executor)
        ray = check.ray(mode, resources, max_actors, actor=actor, retryable=retryable)
        check.project(project, batch)
        takes_columns = batch == "columns"
        signature = (read_columns_signature if takes_columns else read_signature)(decorated)
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
            description=_description(decorated),
            timeout_ms=_milliseconds(timeout),
            signature=signature_of(name, mode, parameters, columns),
            parameters=parameters,
            columns=columns,
            single=signature.returns is ReturnKind.ROW,
            availability=availability,
            eager=eager,
            admin=admin,
            cache="" if cache is None else cache_scope or "user",
            deprecated_by=deprecated_by,
        )
        kind = ColumnsProcedure if takes_columns else Procedure
        declare(kind(decorated, signature, entry, chosen, batch, cache, project, ray), Procedure)
        return decorated

    return decorate


def function(
    name: str,
    *,
    timeout: float = DEFAULT_TIMEOUT,
    availability: Availability = "REQUIRED",
    deprecated_by: str | None = None,
    **unknown: Never,
) -> Callable[[_Function], _Function]:
    """Make a typed Python function a Cypher function, which expressions can use.

    It returns one value. It may accept the context, but `ctx.run` then raises `NoTransaction`.

    Args:
        name: Cypher name with a namespace, such as `kg.slug`.
        timeout: Seconds an evaluation may take.
        availability: Result without a sidecar. REQUIRED raises an error, OPTIONAL returns null, OFF
            returns null at once.
        deprecated_by: The successor to use, or `""`; Neo4j then warns the callers.
        **unknown: No other option; each is refused, also one that only procedures have.

    Raises:
        SignatureError: At import, with file, line and the fix.

    Example:
        >>> @function("demo.slug")
        ... def slug(title: str) -> str:
        ...     return "-".join(title.lower().split())
    """
    _check_is_called(function, name)

    def decorate(decorated: _Function) -> _Function:
        check = _Check(decorated, name)
        check.unknown(unknown, function)
        check.timeout(timeout)
        check.choice("availability", availability, Availability)
        check.deprecated_by(deprecated_by)
        signature = read_function_signature(decorated)
        parameters = _parameters(signature)
        result = str(signature.columns[0].type)
        entry = FunctionEntry(
            name=name,
            description=_description(decorated),
            timeout_ms=_milliseconds(timeout),
            signature=signature_of(name, "FUNCTION", parameters, [ColumnEntry("value", result)]),
            parameters=parameters,
            result=result,
            availability=availability,
            deprecated_by=deprecated_by,
        )
        declare(Procedure(decorated, signature, entry, check.executor(None)))
        return decorated

    return decorate


def _check_is_called(decorator: Callable[..., Any], name: object) -> None:
    """Refuse a decorator without parentheses, which receives the function instead of a name."""
    if not isinstance(name, str):
        raise SignatureError(
            f"`@{decorator.__name__}` was used without a name",
            hint=f'Write `@{decorator.__name__}("kg.score")`, say.',
        )


def _parameters(signature: Signature) -> tuple[ParameterEntry, ...]:
    return tuple(
        ParameterEntry(
            name=parameter.name,
            type=str(parameter.type),
            nullable=parameter.type.nullable,
            default=None
            if parameter.default is None
            else DefaultEntry(text=parameter.default.text, any=parameter.default.by_null),
            description=parameter.description,
        )
        for parameter in signature.parameters
    )


def _description(decorated: Callable[..., Any]) -> str:
    return (inspect.getdoc(decorated) or "").partition("\n")[0]


def _milliseconds(timeout: float) -> int:
    return max(1, round(timeout * 1000))


class _Check:
    """Checks of the options of one decorated function; errors name its file and line."""

    def __init__(self, decorated: Callable[..., Any], name: str) -> None:
        self.is_async = is_async(decorated)
        self.name = check_procedure_name(name)
        try:
            self.place = place_of(decorated)
        except SignatureError as error:
            raise SignatureError(f"{error.message} (`{name}`)", hint=error.hint) from None

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
                "Set seconds above 0 and up to 86 400 (a day).",
            )

    def cache(self, seconds: object, mode: Mode) -> None:
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds >= 0:
            self.refuse("has a cache without a time", "Set seconds, 0 or more: `cache=60.0`, say.")
        if mode != "READ":
            self.refuse(
                f"has a cache and the mode {mode}",
                'Leave `cache` out, or use `mode="READ"`: rows that are kept write nothing.',
            )

    def cache_scope(self, scope: object, seconds: object) -> None:
        self.choice("cache_scope", scope, CacheScope)
        if seconds is None:
            self.refuse(
                "has a `cache_scope` and no `cache`",
                "Set seconds too, `cache=60.0`, say, or leave `cache_scope` out.",
            )

    def deprecated_by(self, successor: object) -> None:
        if successor is not None and not isinstance(successor, str):
            self.refuse(
                "has a `deprecated_by` that is not text",
                'Name what to call instead, or write `deprecated_by=""`.',
            )

    def executor(self, executor: Executor | None) -> Executor:
        if executor is None:
            return "async" if self.is_async else "thread"
        self.choice("executor", executor, Executor)
        if executor == "async" and not self.is_async:
            self.refuse(
                "is a plain function with the executor `async`",
                'Write `async def`, or leave `executor="async"` out.',
            )
        if executor != "async" and self.is_async:
            self.refuse(
                f"is an async function with the executor `{executor}`",
                f'Write a plain `def`, or leave `executor="{executor}"` out: '
                "async functions run on the event loop.",
            )
        return executor

    def project(self, project: object, batch: object) -> None:
        if not isinstance(project, str):
            self.refuse(
                "has a `project` that is not text",
                'Write a statement: `project="MATCH (a)-->(b) RETURN id(a), id(b)"`, say.',
            )
        if project and batch is not False:
            self.refuse(
                "has a `project` and a batch, whose rows would have one statement each",
                "Leave one of the two out.",
            )

    def ray(
        self,
        mode: Mode,
        resources: Mapping[str, float] | None,
        max_actors: int | None,
        *,
        actor: bool,
        retryable: bool,
    ) -> RayOptions:
        if max_actors is not None and not actor:
            self.refuse("has `max_actors` and no actor", "Write `actor=True`, too.")
        most = 1 if max_actors is None else max_actors
        if isinstance(most, bool) or not isinstance(most, int) or most < 1:
            self.refuse("has a `max_actors` that is no number of processes", "Set 1 or more.")
        if retryable and mode != "READ":
            self.refuse(
                f"is retryable and has the mode {mode}",
                'Leave `retryable` out, or use `mode="READ"`: a write may have happened.',
            )
        if resources is not None and not isinstance(resources, Mapping):
            self.refuse(
                "has `resources` that are no amounts by name",
                'Write `resources={"num_cpus": 2}`, say.',
            )
        for name, amount in (resources or {}).items():
            if isinstance(amount, bool) or not isinstance(amount, int | float) or not amount >= 0:
                self.refuse(
                    f"has the resource `{name}` without an amount",
                    'Write `resources={"num_cpus": 2}`, say.',
                )
        return RayOptions(dict(resources or {}), actor, most, retryable)

    def batch(self, batch: object, signature: Signature, executor: Executor) -> None:
        if batch is not True and batch != "columns":
            self.own_batch(batch, executor)
        for column in signature.columns:
            if column.name == "index":
                self.refuse(
                    "has a batch and a column `index`, which a batch adds itself",
                    "Call the column something else.",
                )
            if column.name == "error" and column.type.name != "MAP":
                self.refuse(
                    "has a batch, whose errors are in a column `error`, and its own is not a MAP",
                    "Call the column something else, or make it a `dict[str, Any] | None`.",
                )

    def own_batch(self, batch: object, executor: Executor) -> None:
        if not inspect.isfunction(batch):
            self.refuse(
                "has a batch that is neither a boolean nor a function",
                'Write `batch=True` or `batch="columns"`, or pass a function of `ctx` and `rows`.',
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
        if executor in IN_WORKERS and inspect.iscoroutinefunction(batch):
            self.refuse(
                f"has the async batch `{batch.__qualname__}` and the executor `{executor}`",
                "Write a plain `def`, or leave one of the two out.",
            )
