"""The functions that steps can name: where each runs, and those that run inside a transaction."""

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from difflib import get_close_matches
from typing import Any, Final, Literal, get_args
from uuid import uuid4

from sidecypher import (
    ArgumentError,
    Duration,
    Node,
    Path,
    Point,
    ProcedureError,
    Relationship,
    RowError,
    Steps,
)
from sidecypher_procedures.names import shown_id
from sidecypher_procedures.session.answers import check_request
from sidecypher_procedures.session.conditions import Operation, compare
from sidecypher_procedures.session.creation import create_session
from sidecypher_procedures.session.errors import SessionError, StepFailed
from sidecypher_procedures.session.options import StartOptions
from sidecypher_procedures.session.outcomes import (
    Asked,
    Delegated,
    Done,
    Failed,
    Message,
    Outcome,
    StepCall,
    Waiting,
)
from sidecypher_procedures.session.references import inserted
from sidecypher_procedures.session.store import Tx, chat_history

Place = Literal["inside", "graph", "outside"]
"""Where a function runs: inside the transaction that records it, on the session alone; inside it,
on the rest of the graph; or outside of any."""

LONGEST_WAIT: Final = timedelta(days=366)
"""The longest time that a `wait` step may wait."""

MOST_ROWS: Final = 10_000
"""The most rows of a `cypher` or `procedure` step."""

OUTSIDE: Final = frozenset({"generate", "api"})
"""Functions that wait for others, so they run outside of any transaction."""

REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    "request": ("statement", "query", "prompt"),
    "reply": ("message", "response", "reply", "content"),
    "generate": ("user",),
    "store.append": ("value",),
    "cypher": ("statement",),
    "api": ("url",),
    "procedure": ("name",),
    "session": ("workflow",),
    "wait": ("seconds", "until"),
}
"""What the input of a function must have: one of these names, the first of which is ours."""

_PROCEDURE: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*(\.[A-Za-z][A-Za-z0-9]*)+")

_CHILD: Final = """
    MATCH (s:SESSION {id: $id})
    RETURN s.status AS status, COLLECT {
        MATCH (o:OUTPUT) WHERE o.sessionId = s.id AND o.seq >= 0
        RETURN o.value ORDER BY o.sessionId DESC, o.seq DESC LIMIT 1
    }[0] AS value
"""
_LATEST: Final = """
    MATCH (o:OUTPUT) WHERE o.sessionId = $id AND o.stepId = $step AND o.cycle >= 0
    RETURN o.value AS value
    ORDER BY o.sessionId DESC, o.stepId DESC, o.cycle DESC LIMIT 1
"""
_IS_HERE: Final = "CALL sidecypher.procedures() YIELD name, kind WHERE name = $name RETURN kind"
_READ: Final = "CALL session.read($statement, $parameters) YIELD row RETURN row"


class Functions:
    """The functions of a sidecar.

    Args:
        steps: Those that authors have declared by `@step`.
    """

    def __init__(self, steps: Steps) -> None:
        self._steps = steps

    @property
    def names(self) -> list[str]:
        """All that a step can name."""
        return sorted({*SHIPPED, *self._steps.names()})

    def place(self, name: str) -> Place:
        """Return where a function runs; one that is not there fails inside."""
        if name in _GRAPH:
            return "graph"
        if name in OUTSIDE:
            return "outside"
        found = self._steps.get(name)
        return "outside" if found is not None and found.is_async else "inside"

    async def run(self, call: StepCall) -> Outcome:
        """Run a function inside the transaction.

        Raises:
            CypherError: A statement failed; the transaction is lost.
        """
        name = call.step.function
        function = _INSIDE.get(name) or _GRAPH.get(name)
        if function is None:
            history = await chat_history(call.tx, call.session.id)
            place = call.session.id, call.step.id, call.cycle
            return await self.author_step(name, place, call.given, history)
        try:
            return await function(call)
        except SessionError as error:
            return Failed(error.message, is_final=True)

    async def author_step(
        self,
        name: str,
        place: tuple[str, str, int],
        given: Mapping[str, Any],
        history: Sequence[Mapping[str, Any]],
    ) -> Outcome:
        """Run a function that an author has declared, for a session, a step and a cycle."""
        found = self._steps.get(name)
        if found is None:
            near = get_close_matches(name, self.names, 1)
            hint = f"; did you mean `{near[0]}`?" if near else ""
            return Failed(f"There is no function `{shown_id(name)}`{hint}", is_final=True)
        session_id, step_id, cycle = place
        context = self._steps.context(
            session_id=session_id, step_id=step_id, cycle=cycle, history=history
        )
        try:
            return Done(await found.run(context, given))
        except (ArgumentError, RowError) as error:
            return Failed(error.message, is_final=True)
        except ProcedureError as error:
            return Failed(error.message)
        except Exception as error:  # noqa: BLE001 - an author's function may raise anything
            # Not its text, which may hold data.
            return Failed(f"`{name}` raised {type(error).__name__}")

    async def ended(self, tx: Tx, claim: Mapping[str, Any]) -> Outcome:
        """Return what a step has come to that waited for a time or for another session."""
        if claim["kind"] == "wait":
            return Done({"until": claim["leaseUntil"].isoformat()})
        [child] = await tx.run(_CHILD, id=claim["child"])
        if child["status"] != "completed":
            return Failed(f"Its session has ended with the status `{child['status']}`")
        output = None if child["value"] is None else json.loads(child["value"])
        return Done({"sessionId": claim["child"], "output": output})


def check_input(function: str, given: Mapping[str, Any]) -> None:
    """Check the input of a step before its references are resolved.

    Raises:
        StepFailed: The statement of a `cypher` step has a reference, whose value could be Cypher.
    """
    if function == "cypher" and "@{" in str(given.get("statement")):
        raise StepFailed(
            "The `statement` of a `cypher` step has a reference: give its value by `parameters`"
        )


def required(function: str, given: Mapping[str, Any]) -> Any:
    """Return what the input of a function must have, under any of its names.

    Raises:
        StepFailed: It is not there.
    """
    names = REQUIRED[function]
    for name in names:
        if given.get(name) is not None:
            return given[name]
    raise StepFailed(f"The input of a `{function}` step has no `{names[0]}`")


async def _pass(_call: StepCall) -> Outcome:
    return Done({})


async def _request(call: StepCall) -> Outcome:
    statement = inserted(required("request", call.given))
    return Asked(check_request(statement, call.given), (Message("assistant", statement),))


async def _reply(call: StepCall) -> Outcome:
    text = inserted(required("reply", call.given))
    key = "reply" if call.session.properties.get("compat") == "graphie" else "message"
    return Done({key: text}, (Message("assistant", text),))


async def _set(call: StepCall) -> Outcome:
    return Done(call.given)


async def _append(call: StepCall) -> Outcome:
    found = next(iter(await call.tx.run(_LATEST, id=call.session.id, step=call.step.id)), None)
    items = [] if found is None else json.loads(found["value"])["items"]
    most = call.given.get("limit")
    items = [*items, required("store.append", call.given)]
    return Done({"items": items[-most:] if isinstance(most, int) and most > 0 else items})


def _condition(operation: Operation) -> Callable[[StepCall], Awaitable[Outcome]]:
    async def condition(call: StepCall) -> Outcome:
        given = call.given
        expected = given.get("expected", given.get(operation))
        return Done({"result": compare(operation, given.get("value"), expected)})

    return condition


async def _wait(call: StepCall) -> Outcome:
    given = required("wait", call.given)
    now = call.session.now
    try:
        if call.given.get("seconds") is not None:
            until = now + timedelta(seconds=float(given))
        else:
            until = datetime.fromisoformat(given)
            until = until if until.tzinfo is not None else until.replace(tzinfo=UTC)
    except (TypeError, ValueError, OverflowError):
        raise StepFailed("A `wait` step has neither a number of seconds nor a time") from None
    if until - now > LONGEST_WAIT:
        raise StepFailed(f"A `wait` step would wait longer than {LONGEST_WAIT.days} days")
    return Waiting(until)


async def _session(call: StepCall) -> Outcome:
    given = {name: value for name, value in call.given.items() if name != "workflow"}
    try:
        options = StartOptions.from_map({**given, "id": str(uuid4())}, "input")
    except ArgumentError as error:
        raise StepFailed(error.message) from None
    parent = {"parent": call.session.id, "parent_step": call.step.id}
    workflow = inserted(required("session", call.given))
    child, _ = await create_session(call.tx, workflow, options, parent)
    return Delegated(child)


async def _cypher(call: StepCall) -> Outcome:
    given = call.given
    statement = inserted(required("cypher", given))
    parameters = given.get("parameters") or {}
    mode = given.get("mode", "READ")
    if not isinstance(parameters, dict) or mode not in {"READ", "WRITE"}:
        raise StepFailed("A `cypher` step has `parameters` that are no map, or an unknown `mode`")
    if mode == "READ":
        records = await call.tx.run(_READ, statement=statement, parameters=parameters)
        return _rows(each["row"] for each in records)
    # What a workflow says is a statement of its author, and no value of a session is in it.
    return _rows(await call.tx.run(statement, **parameters))


async def _procedure(call: StepCall) -> Outcome:
    name = inserted(required("procedure", call.given))
    arguments = call.given.get("arguments") or []
    if not isinstance(arguments, list) or not _PROCEDURE.fullmatch(name):
        raise StepFailed("A `procedure` step has `arguments` that are no list, or an unusable name")
    if not list(await call.tx.run(_IS_HERE, name=name)):
        raise StepFailed(f"The sidecar has no procedure `{shown_id(name)}`")
    named = {f"a{index}": value for index, value in enumerate(arguments)}
    # The name was compared with a pattern and with those of the sidecar.
    statement = f"CALL {name}({', '.join(f'${each}' for each in named)})"
    return _rows(await call.tx.run(statement, **named))


def _rows(records: Iterable[Mapping[str, Any]]) -> Outcome:
    rows = [plain(dict(each)) for each in records]
    if len(rows) > MOST_ROWS:
        raise StepFailed(f"The step has {len(rows)} rows, more than {MOST_ROWS}")
    return Done({"rows": rows, "row": rows[0] if rows else None})


def plain(value: Any) -> Any:
    """Return a Cypher value as JSON has it: entities as their properties, times as texts.

    Example:
        >>> plain([date(2026, 1, 2), Node("4:a:1", properties={"name": "Ann"})])
        ['2026-01-02', {'name': 'Ann'}]
    """
    match value:
        case dict():
            return {key: plain(each) for key, each in value.items()}
        case list() | tuple():
            return [plain(each) for each in value]
        case Node() | Relationship():
            return plain(value.properties)
        case Path():
            return [plain(each) for each in value.nodes]
        case Point():
            return {"srid": value.srid, "x": value.x, "y": value.y, "z": value.z}
        case date() | time():
            return value.isoformat()
        case Duration():
            return str(value)
        case _:
            return value


_INSIDE: Final[Mapping[str, Callable[[StepCall], Awaitable[Outcome]]]] = {
    "": _pass,
    "request": _request,
    "reply": _reply,
    "set": _set,
    "store.append": _append,
    "wait": _wait,
    "session": _session,
    **{f"condition.{operation}": _condition(operation) for operation in get_args(Operation)},
}
_GRAPH: Final[Mapping[str, Callable[[StepCall], Awaitable[Outcome]]]] = {
    "cypher": _cypher,
    "procedure": _procedure,
}
SHIPPED: Final = frozenset({*_INSIDE, *_GRAPH, *OUTSIDE})
"""The names of the functions that come with sidecypher."""
