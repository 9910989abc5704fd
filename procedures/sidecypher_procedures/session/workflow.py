"""Steps and edges as the graph holds them, and how their properties are read."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from sidecypher_procedures.names import shown_id
from sidecypher_procedures.session.conditions import Condition, read_conditions
from sidecypher_procedures.session.errors import StepFailed
from sidecypher_procedures.session.references import from_json

ENTRY: Final = "root"
"""The id of the step that a workflow begins with, unless it names another."""

STEP_SECONDS: Final = 60.0
"""How long the body of a step may take, unless `timeoutMs` says otherwise."""

LONGEST_STEP_SECONDS: Final = 86_400.0
"""How long the body of a step may take at most."""

_OLD_NAME: Final = re.compile(
    r"(?:utils\.)?(?:(request|reply|generate|cypher|api)(?:\.\1)?|(condition\.\w+|store\.append))"
)
_RESPOND: Final = frozenset({"reply.respond", "utils.reply.respond"})


@dataclass(frozen=True)
class Edge:
    """A NEXT relationship.

    Attributes:
        properties: All its properties, among them its conditions.
        to: The id of the step that it leads to.
        node: The element id of that step.
    """

    properties: Mapping[str, Any]
    to: str
    node: str

    @property
    def place(self) -> tuple[float, str]:
        """What edges of a step are sorted by: `order`, those without one last, then `id`."""
        order = self.properties.get("order")
        number = order if isinstance(order, int | float) else float("inf")
        return number, str(self.properties.get("id") or self.to)

    @cached_property
    def condition(self) -> Condition:
        """The condition under which it is followed.

        Raises:
            InvalidCondition: It cannot be read.
        """
        return read_conditions(self.properties)


@dataclass(frozen=True)
class Step:
    """A STEP node.

    Attributes:
        node: Its element id.
        properties: All its properties.
        edges: Where it leads to, in the order in which conditions are looked at.
    """

    id: str
    node: str
    properties: Mapping[str, Any] = field(repr=False)
    edges: tuple[Edge, ...] = ()

    @property
    def function(self) -> str:
        """The name of its function, without what older engines put around it."""
        return function_name(self.properties.get("function") or self.properties.get("utility"))

    @property
    def seconds(self) -> float:
        """How long its body may take."""
        given = self.properties.get("timeoutMs")
        if not isinstance(given, int | float) or not given > 0:
            return STEP_SECONDS
        return min(given / 1000, LONGEST_STEP_SECONDS)

    @property
    def has_time(self) -> bool:
        """Whether it says how long it may take: a request waits for ever unless it does."""
        return self.properties.get("timeoutMs") is not None

    @property
    def retries(self) -> int:
        """How often it is run again after a failure."""
        given = self.properties.get("retries")
        return given if isinstance(given, int) and given > 0 else 0

    @property
    def backoff(self) -> float:
        """Seconds between the first failure and the next try; each further one takes twice that."""
        given = self.properties.get("backoffMs")
        return given / 1000 if isinstance(given, int | float) and given >= 0 else 1.0

    @property
    def on_error(self) -> str:
        """What follows a failure: `fail`, `continue`, or `step:` and an id."""
        return str(self.properties.get("onError") or "fail")

    @property
    def is_join(self) -> bool:
        """Whether it waits for all branches that can still reach it."""
        return self.properties.get("join") == "all"

    @cached_property
    def input(self) -> dict[str, Any]:
        """Its input.

        Raises:
            StepFailed: It is not a JSON object without duplicate keys; the text says where.
        """
        return read_input(self.properties.get("input"), self.id)


def function_name(name: object) -> str:
    """Return the name of a step's function as it is known here, also by an older engine's name.

    Example:
        >>> [function_name(each) for each in ("utils.request.request", "reply.reply", "my.own")]
        ['request', 'reply', 'my.own']
    """
    given = str(name or "")
    if given in _RESPOND:
        return "reply"
    found = _OLD_NAME.fullmatch(given)
    return given if found is None else found[1] or found[2]


def read_input(text: Any, step_id: str) -> dict[str, Any]:
    """Return the input of a step from its JSON text; `{}` if it has none.

    Raises:
        StepFailed: It is not a JSON object without duplicate keys; the text says where.

    Example:
        >>> read_input('{"statement": "Who?"}', "ask")
        {'statement': 'Who?'}
    """
    if text is None or text == "":
        return {}
    if not isinstance(text, str):
        raise _unreadable(step_id, "is not a JSON text")
    try:
        value = from_json(text)
    except ValueError as error:
        raise _unreadable(step_id, str(error)) from None
    if not isinstance(value, dict):
        raise _unreadable(step_id, "is not a JSON object")
    return value


def _unreadable(step_id: str, what: str) -> StepFailed:
    return StepFailed(f"The `input` of the step `{shown_id(step_id)}` {what}")


def read_step(record: Mapping[str, Any]) -> Step:
    """Return a step from the map that statements return; its id is empty if it has none."""
    edges = [Edge(each["properties"], _id(each["to"]), each["node"]) for each in record["edges"]]
    properties = record["properties"]
    return Step(
        _id(properties.get("id")),
        record["node"],
        properties,
        tuple(sorted(edges, key=lambda edge: edge.place)),
    )


def _id(value: Any) -> str:
    # People draw steps, so an id may be anything.
    return value if isinstance(value, str) else ""
