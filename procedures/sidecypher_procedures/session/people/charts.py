"""A workflow with the way that a session has taken, as steps in layers and edges.

An output, or an error, holds the ids of the steps that it led to. If two edges lead from one step
to another, both count as taken.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from sidecypher_procedures.session import workflow
from sidecypher_procedures.session.conditions import (
    Comparison,
    Condition,
    Group,
    Truth,
    Written,
    read_conditions,
)
from sidecypher_procedures.session.errors import SessionError
from sidecypher_procedures.terminal import printable

CHART: Final = """
    MATCH (s:SESSION {id: $id})
    RETURN s {.id, .workflow, .status, .next_steps} AS session,
        COLLECT {
            CALL (s) {
                WITH s WHERE s.workflow IS NOT NULL
                MATCH (t:STEP {workflow: s.workflow})
                WHERE t.id IS NOT NULL AND coalesce(t.version, 0) = coalesce(s.workflow_version, 0)
                RETURN t
                UNION ALL
                WITH s WHERE s.workflow IS NULL
                MATCH (t:STEP) WHERE t.workflow IS NULL
                RETURN t
            }
            RETURN {
                node: elementId(t), id: t.id, function: t.function, join: t.join,
                onError: t.onError,
                edges: COLLECT {
                    MATCH (t)-[n:NEXT]->(u)
                    RETURN {node: elementId(u), to: u.id, properties: properties(n)}
                }
            } ORDER BY t.id
        } AS steps,
        COLLECT {
            MATCH (o:OUTPUT) WHERE o.sessionId = s.id AND o.seq >= 0
            WITH o.stepId AS step, count(*) AS runs, min(o.seq) AS first, max(o.seq) AS last
            RETURN {step: step, runs: runs, first: first, last: last}
        } AS runs,
        COLLECT {
            MATCH (e:StepError)
            WHERE e.sessionId = s.id AND e.seq >= 0 AND e.severity = 'error'
            RETURN {step: e.stepId, seq: e.seq, error: e.error} ORDER BY e.seq
        } AS errors,
        COLLECT {
            CALL (s) {
                MATCH (o:OUTPUT) WHERE o.sessionId = s.id AND o.seq >= 0
                RETURN o.stepId AS start, o.next AS ends, false AS isError
                UNION ALL
                MATCH (e:StepError) WHERE e.sessionId = s.id AND e.seq >= 0
                RETURN e.stepId AS start, e.next AS ends, true AS isError
            }
            UNWIND ends AS end
            WITH start, end, isError, count(*) AS count
            RETURN {start: start, end: end, isError: isError, count: count}
        } AS ways,
        COLLECT { MATCH (s)-[:AWAITS]->(r:InputRequest) RETURN r.stepId } AS asked,
        COLLECT { MATCH (s)-[:HAS_CLAIM]->(c:StepClaim) RETURN {step: c.stepId, kind: c.kind} }
            AS claims
"""
"""Statement that returns what `read_chart` reads; no row if the session does not exist."""

_INPUT: Final = "input"
"""Step id of the output that holds the input of a session."""

_BEGUN: Final = {"run": "runs now", "retry": "will run again"}
LONGEST: Final = 60
"""The most characters of a condition, an error or an id in a picture."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a workflow, and how far a session has come there.

    Attributes:
        layer: Its distance from the entry step, over the longest way without a loop.
        runs: Number of its outputs.
        state: What happens there now, such as `awaits input`; empty if nothing does.
        error: Its latest error; empty if it has none, or if it has run since.
        notes: Properties of the step that change what follows it.
    """

    id: str
    function: str
    layer: int
    runs: int
    state: str = ""
    error: str = ""
    notes: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """Its function and its notes."""
        return ", ".join(part for part in (self.function, *self.notes) if part)

    @property
    def progress(self) -> str:
        """How often it has run, and what happens there now."""
        runs = "not run" if not self.runs else f"{self.runs} run{'s' * (self.runs != 1)}"
        return f"{runs}, {self.state}" if self.state else runs

    @property
    def words(self) -> str:
        """Text of the step."""
        error = f"failed: {self.error}" if self.error else ""
        return ", ".join(part for part in (self.kind, self.progress, error) if part)


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge, by the indexes of its steps.

    Attributes:
        words: Its condition as text; empty if it always fires.
        count: How often the session has followed it.
        is_back: Whether it closes a loop.
    """

    start: int
    end: int
    words: str
    count: int
    is_back: bool

    @property
    def is_taken(self) -> bool:
        """Whether the session has followed it."""
        return self.count > 0

    @property
    def times(self) -> str:
        """How often the session has followed it, as text; empty up to once."""
        return f"{self.count} times" if self.count > 1 else ""


@dataclass(frozen=True, slots=True)
class Chart:
    """A workflow and a session: its title, its steps by layer, and their edges."""

    title: str
    steps: tuple[Step, ...]
    edges: tuple[Edge, ...]

    def leaving(self, index: int) -> list[Edge]:
        """Return the edges that leave a step, in the order in which they are evaluated."""
        return [edge for edge in self.edges if edge.start == index]


@dataclass(slots=True)
class _Way:
    """The way of a session, by the ids of steps.

    Attributes:
        runs: Number of outputs.
        first: Number of the first output.
        last: Number of the latest output.
        failed: Numbers of the errors.
        errors: Text of the latest error.
        states: What happens at each of the next steps.
        counts: How often one step has led to another, by an output or by an error.
    """

    runs: dict[str, int] = field(default_factory=dict)
    first: dict[str, int] = field(default_factory=dict)
    last: dict[str, int] = field(default_factory=dict)
    failed: dict[str, list[int]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)
    counts: dict[tuple[str, str, bool], int] = field(default_factory=dict)

    @property
    def reached(self) -> list[str]:
        """The steps that the session has reached, in order."""
        seen = {name: float("inf") for name in self.states}
        seen |= {name: float(numbers[0]) for name, numbers in self.failed.items()}
        for name, number in self.first.items():
            seen[name] = min(seen.get(name, number), number)
        return sorted(seen, key=lambda name: seen[name])

    def error(self, step: str) -> str:
        """Return the error of a step that has not run since; empty if there is none."""
        is_last = self.failed.get(step, [0])[-1] > self.last.get(step, 0)
        return self.errors[step] if is_last else ""


def read_chart(record: Mapping[str, Any]) -> Chart:
    """Return the drawing's content from a row of the statement `CHART`."""
    session = record["session"]
    way = _way(record)
    found = [*record["steps"]]
    nodes = {each["node"]: index for index, each in enumerate(found)}
    arrows = list(_arrows(found, nodes))
    known = {each["id"] for each in found}
    found += [_outside(name) for name in way.reached if name not in known]
    ids = [str(each["id"]) for each in found]
    order, layers, back = _layered(len(found), arrows, _entry(ids, way))
    places = {index: place for place, index in enumerate(order)}
    edges = [
        Edge(
            start=places[arrow.start],
            end=places[arrow.end],
            words=arrow.words,
            count=_count(arrow, found, way),
            is_back=number in back,
        )
        for number, arrow in enumerate(arrows)
    ]
    steps = tuple(_step(found[index], layers[index], way) for index in order)
    count = sum(way.runs.values())
    title = f"{session['workflow'] or 'workflow'} {session['id']}: {session['status']}, {count} run"
    title = printable(f"{title}{'s' * (count != 1)}")
    return Chart(title, steps, tuple(sorted(edges, key=lambda edge: edge.start)))


def _way(record: Mapping[str, Any]) -> _Way:
    way = _Way()
    is_step = any(step["id"] == _INPUT for step in record["steps"])
    for each in record["runs"]:
        name = each["step"]
        if name != _INPUT or is_step:
            way.runs[name], way.first[name] = each["runs"], each["first"]
            way.last[name] = each["last"]
    for each in record["ways"]:
        way.counts[each["start"], each["end"], each["isError"]] = each["count"]
    for each in record["errors"]:
        way.failed.setdefault(each["step"], []).append(each["seq"])
        way.errors[each["step"]] = printable(str(each["error"]))
    claims = {each["step"]: _BEGUN.get(each["kind"], "waits") for each in record["claims"]}
    for name in record["session"]["next_steps"] or ():
        way.states[name] = "awaits input" if name in record["asked"] else claims.get(name, "next")
    return way


class _Arrow(NamedTuple):
    """An edge, by indexes into the rows of steps; `is_error` if an error leads along it."""

    start: int
    end: int
    words: str
    is_error: bool = False


def _arrows(found: list[Mapping[str, Any]], nodes: dict[str, int]) -> Iterator[_Arrow]:
    """Yield the edges with their conditions; append the steps of other workflows to `found`."""
    own = {each["id"]: index for index, each in reversed([*enumerate(found)])}
    for index, step in enumerate([*found]):
        for edge in sorted(step["edges"], key=lambda each: workflow.Edge(**each).place):
            if edge["node"] not in nodes:
                nodes[edge["node"]] = len(found)
                found.append(_outside(edge["to"]))
            yield _Arrow(index, nodes[edge["node"]], _condition_words(edge["properties"]))
        kind, _, name = str(step["onError"] or "").partition(":")
        if kind == "step" and name in own:
            yield _Arrow(index, own[name], "on error", is_error=True)


def _outside(name: object) -> dict[str, Any]:
    """Return the row of a node that is not a step of the workflow."""
    return {"id": name, "function": None, "onError": None, "edges": (), "isOutside": True}


def _entry(ids: Sequence[str], way: _Way) -> int:
    """Return the index of the step that the session began with."""
    names = [name for name in (*way.reached, "root") if name in ids]
    return ids.index(names[0]) if names else 0


def _count(arrow: _Arrow, found: Sequence[Mapping[str, Any]], way: _Way) -> int:
    start, end = (str(found[index]["id"]) for index in (arrow.start, arrow.end))
    counts = {kind: way.counts.get((start, end, kind), 0) for kind in (False, True)}
    if arrow.is_error:
        return counts[True]
    goes_on = found[arrow.start]["onError"] == "continue"
    return counts[False] + (counts[True] if goes_on else 0)


def _step(found: Mapping[str, Any], layer: int, way: _Way) -> Step:
    name = str(found["id"])
    notes = ["waits for all branches"] if found.get("join") == "all" else []
    if found.get("isOutside"):
        notes.append("not a step of this workflow")
    elif found["onError"] == "continue":
        notes.append("goes on after an error")
    return Step(
        id=printable(name),
        function=printable(str(found["function"] or "")),
        layer=layer,
        runs=way.runs.get(name, 0),
        state=way.states.get(name, ""),
        error=way.error(name),
        notes=tuple(notes),
    )


def _layered(
    count: int, arrows: Sequence[_Arrow], entry: int
) -> tuple[list[int], list[int], set[int]]:
    """Return the order of steps, the layer of each, and the numbers of the edges back."""
    leaving: list[list[int]] = [[] for _ in range(count)]
    for number, arrow in enumerate(arrows):
        leaving[arrow.start].append(number)
    roots = [entry, *range(count)] if count else []
    begun, ended, back = _walked(leaving, [arrow.end for arrow in arrows], roots)
    layers = [0] * count
    for index in reversed(ended):
        for number in leaving[index]:
            if number not in back:
                end = arrows[number].end
                layers[end] = max(layers[end], layers[index] + 1)
    reached = {index: place for place, index in enumerate(begun)}
    order = sorted(range(count), key=lambda index: (layers[index], reached[index]))
    return order, layers, back


def _walked(
    leaving: Sequence[Sequence[int]], ends: Sequence[int], roots: Sequence[int]
) -> tuple[list[int], list[int], set[int]]:
    """Walk along the edges from each root, depth first.

    Returns:
        The steps in the order in which they begin, those in the order in which they end, and the
        numbers of the edges that lead back to a step that has not ended.
    """
    begun: list[int] = []
    ended: list[int] = []
    back: set[int] = set()
    seen: set[int] = set()
    # Not recursive, since a workflow may have a thousand steps in a row.
    stack: list[tuple[int, Iterator[int]]] = []
    open_: set[int] = set()

    def begin(index: int) -> None:
        if index not in seen:
            seen.add(index)
            open_.add(index)
            begun.append(index)
            stack.append((index, iter(leaving[index])))

    for root in roots:
        begin(root)
        while stack:
            index, numbers = stack[-1]
            number = next(numbers, None)
            if number is None:
                stack.pop()
                open_.discard(index)
                ended.append(index)
            elif ends[number] in open_:
                back.add(number)
            else:
                begin(ends[number])
    return begun, ended, back


_SIGNS: Final = {
    "equals": "=",
    "not_equals": "≠",
    "greater_than": ">",
    "less_than": "<",
    "contains": "contains",
    "matches": "matches",
    "in": "in",
}
_JOINED: Final = {"all": " and ", "any": " or ", "none": " or "}


def _condition_words(properties: Mapping[str, Any]) -> str:
    try:
        text = _words(read_conditions(properties))
    except SessionError:
        return "a condition that cannot be read"
    return cut(printable(text))


def _words(condition: Condition) -> str:
    match condition:
        case Comparison(value, "exists"):
            return f"{_shown(value)} exists"
        case Comparison(value, operation, expected):
            return f"{_shown(value)} {_SIGNS[operation]} {_shown(expected)}"
        case Truth(value):
            return _shown(value)
        case Written(value, text):
            return f"{_shown(value)} = {text}"
        case Group(kind, members):
            text = _JOINED[kind].join(map(_words, members))
            if kind == "none":
                return f"not ({text})"
            return f"({text})" if kind == "any" and len(members) > 1 else text


def _shown(value: Any) -> str:
    return str(value).replace("@{SESSION_ID}.", "")


def cut(text: str, longest: int = LONGEST) -> str:
    """Return a text of at most so many characters."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
