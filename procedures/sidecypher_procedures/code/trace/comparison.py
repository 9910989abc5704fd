"""Recorded calls against the relationships of a graph."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from sidecypher_procedures.code.model import EntityType, Resolution
from sidecypher_procedures.code.python.modules import module_name
from sidecypher_procedures.code.trace.programs import Recording
from sidecypher_procedures.code.trace.recorder import KINDS, Kind

Pair: TypeAlias = tuple[str, str]
"""The ids of two entities, the caller's first."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A Python function, class or module of a graph."""

    id: str
    type: EntityType
    qualified_name: str
    path: str
    start_line: int


@dataclass(slots=True)
class Known:
    """What a graph has of a repository's Python files.

    Attributes:
        definitions: Its functions, classes and modules.
        calls: How each call was resolved.
        references: What refers to what.
        confirmed: The calls that an earlier trace has confirmed.
    """

    definitions: list[Definition] = field(default_factory=list)
    calls: dict[Pair, Resolution] = field(default_factory=dict)
    references: set[Pair] = field(default_factory=set)
    confirmed: set[Pair] = field(default_factory=set)

    @property
    def files(self) -> set[str]:
        """The files, below the root."""
        return {each.path for each in self.definitions}


@dataclass(frozen=True, slots=True, order=True)
class Missing:
    """A call that happens and that the graph does not have."""

    path: str
    line: int
    caller: str
    callee: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Share:
    """How many of some things have a property."""

    part: int
    whole: int

    def __str__(self) -> str:
        """Return the percentage, or a dash if there is nothing."""
        return f"{self.part / self.whole:.1%}" if self.whole else "-"


@dataclass(slots=True)
class Comparison:
    """What a recording says of a graph.

    Attributes:
        confirmed: The calls of the graph that happen.
        recall: How many of the calls that happen are in the graph, by how they are made.
        tiers: How many calls of the graph happen, of those whose caller ran, by their resolution.
        missing: The calls that happen and are not in the graph, by file and line.
        unknown: How many functions ran that the graph does not have.
    """

    confirmed: set[Pair]
    recall: dict[Kind, Share]
    tiers: dict[Resolution, Share]
    missing: list[Missing]
    unknown: int

    @classmethod
    def of(cls, known: Known, recording: Recording) -> "Comparison":
        """Compare what a graph has with what happens when a program runs."""
        ids = _ids(known.definitions, recording)
        happened = _happened(recording, ids)
        found = {
            pair
            for pair, (kind, _) in happened.items()
            # A property that is read is a reference.
            if pair in known.calls or (kind == "implicit" and pair in known.references)
        }
        by_id = {each.id: each for each in known.definitions}
        confirmed = happened.keys() & known.calls.keys()
        return cls(
            confirmed=confirmed,
            recall=dict(_recall(happened, found)),
            tiers=dict(_tiers(known, by_id, {ids.get(each) for each in recording.ran}, confirmed)),
            missing=sorted(
                Missing(
                    by_id[caller].path,
                    line,
                    by_id[caller].qualified_name,
                    by_id[callee].qualified_name,
                    kind,
                )
                for (caller, callee), (kind, line) in happened.items()
                if (caller, callee) not in found
            ),
            unknown=len({recording.places[each] for each in recording.ran if each not in ids}),
        )


def _ids(definitions: Iterable[Definition], recording: Recording) -> dict[int, str]:
    """Return the ids of what was recorded, by its index."""
    by_place = {(each.path, each.start_line, each.qualified_name): each.id for each in definitions}
    modules = {each.path: each.id for each in definitions if each.type == "module"}
    ids = {}
    for index, (path, line, name) in enumerate(recording.places):
        known = (
            by_place.get((path, line, f"{module_name(path)}.{name}")) if name else modules.get(path)
        )
        if known is not None:
            ids[index] = known
    return ids


def _happened(recording: Recording, ids: Mapping[int, str]) -> dict[Pair, tuple[Kind, int]]:
    """Return how each call is made, in the plainest way, and its first line."""
    happened: dict[Pair, tuple[Kind, int]] = {}
    for caller, callee, line, kind in sorted(
        recording.calls, key=lambda call: (KINDS.index(call[3]), call[2])
    ):
        if caller in ids and callee in ids:
            happened.setdefault((ids[caller], ids[callee]), (kind, line))
    return happened


def _recall(
    happened: Mapping[Pair, tuple[Kind, int]], found: set[Pair]
) -> Iterator[tuple[Kind, Share]]:
    for kind in KINDS:
        pairs = {pair for pair, (each, _) in happened.items() if each == kind}
        yield kind, Share(len(pairs & found), len(pairs))


def _tiers(
    known: Known, by_id: Mapping[str, Definition], ran: set[str | None], confirmed: set[Pair]
) -> Iterator[tuple[Resolution, Share]]:
    """Yield the shares of calls that happen; making an object of a class runs nothing of it."""
    for tier in sorted(set(known.calls.values())):
        pairs = {
            (caller, callee)
            for (caller, callee), resolution in known.calls.items()
            if resolution == tier
            and caller in ran
            and callee in by_id
            and by_id[callee].type == "function"
        }
        if pairs:
            yield tier, Share(len(pairs & confirmed), len(pairs))
