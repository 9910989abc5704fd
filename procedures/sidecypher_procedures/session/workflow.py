"""Steps and edges as the graph holds them, and how their properties are read."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sidecypher_procedures.names import shown_id
from sidecypher_procedures.session.errors import StepFailed

ENTRY: Final = "root"
"""The id of the step that a workflow begins with, unless it names another."""

STEP_SECONDS: Final = 60.0
"""How long the body of a step may take, unless `timeoutMs` says otherwise."""

_UTILITY: Final = re.compile(r"utils\.(\w+)(?:\.(\w+))?")


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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
        return function_name(self.properties.get("function"))

    @property
    def seconds(self) -> float:
        """How long its body may take."""
        given = self.properties.get("timeoutMs")
        return given / 1000 if isinstance(given, int | float) and given > 0 else STEP_SECONDS

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

    def read_input(self) -> dict[str, Any]:
        """Return its input.

        Raises:
            StepFailed: It is not a JSON object without duplicate keys; the text says where.
        """
        return read_input(self.properties.get("input"), self.id)


def function_name(name: object) -> str:
    """Return the name of a step's function as it is known here.

    Example:
        >>> [function_name(f"utils.{each}") for each in ("request.request", "condition.equals")]
        ['request', 'condition.equals']
    """
    found = _UTILITY.fullmatch(str(name or ""))
    if found is None:
        return str(name or "")
    module, function = found.groups()
    return module if function in {None, module} else f"{module}.{function}"


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
    try:
        value = json.loads(text, object_pairs_hook=_without_duplicates)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise _unreadable(step_id, f"is not JSON at {place}: {error.msg}") from None
    except _DuplicateKey as error:
        raise _unreadable(step_id, f"has two keys `{shown_id(str(error))}` in one map") from None
    except (TypeError, ValueError, RecursionError):
        raise _unreadable(step_id, "is not a JSON text") from None
    if not isinstance(value, dict):
        raise _unreadable(step_id, "is not a JSON object")
    return value


class _DuplicateKey(Exception):
    """A map in a JSON text has a key twice."""


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise _DuplicateKey(next(name for name in names if names.count(name) > 1))
    return found


def _unreadable(step_id: str, what: str) -> StepFailed:
    return StepFailed(f"The `input` of the step `{shown_id(step_id)}` {what}")


def read_step(record: Mapping[str, Any]) -> Step:
    """Return a step from the map that statements return."""
    edges = [Edge(each["properties"], each["to"], each["node"]) for each in record["edges"]]
    properties = record["properties"]
    return Step(
        properties["id"], record["node"], properties, tuple(sorted(edges, key=lambda e: e.place))
    )
