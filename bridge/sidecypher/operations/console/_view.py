"""The contents of the page, as plain values for its template."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from sidecypher.protocol.catalogue import ProcedureEntry
from sidecypher.sdk.registry import Procedure
from sidecypher.sdk.samples import sample_call
from sidecypher.telemetry.metrics import BUCKET_SECONDS, Summary

_NO_CALLS: Final = Summary(calls=0, errors=0, mean=None, median=None, p95=None)


@dataclass(frozen=True, slots=True)
class Item:
    """A procedure or function.

    Attributes:
        options: Each field of its options, with its meaning.
        marks: Its mode, executor and timeout, and other marks, a word each.
        numbers: Formatted calls, errors, and times of `Summary`.
    """

    kind: str
    name: str
    description: str
    usage: str
    options: tuple[tuple[str, str], ...]
    sample: str
    marks: tuple[str, ...]
    numbers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Namespace:
    """The procedures and functions of one namespace."""

    name: str
    items: tuple[Item, ...]


def namespaces(
    procedures: Iterable[Procedure], summaries: Mapping[str, Summary]
) -> list[Namespace]:
    """Return all procedures and functions, sorted by name."""
    ordered = sorted(procedures, key=lambda each: (each.name, each.kind))
    return [
        Namespace(name, tuple(_item(each, summaries.get(each.name, _NO_CALLS)) for each in found))
        for name, found in groupby(ordered, key=lambda each: each.name.partition(".")[0])
    ]


def _item(found: Procedure, summary: Summary) -> Item:
    return Item(
        kind=found.kind,
        name=found.name,
        description=found.entry.description,
        usage=found.usage(),
        options=tuple((path, field.meaning) for path, field in found.fields()),
        sample=sample_call(found.entry),
        marks=tuple(_marks(found)),
        numbers=(
            str(summary.calls),
            str(summary.errors),
            duration(summary.mean),
            bound(summary.median),
            bound(summary.p95),
        ),
    )


def _marks(found: Procedure) -> Iterator[str]:
    entry = found.entry
    if isinstance(entry, ProcedureEntry):
        yield entry.mode
    else:
        yield "function"
    yield found.executor
    yield f"{entry.timeout_ms / 1000:g} s"
    if isinstance(entry, ProcedureEntry) and entry.admin:
        yield "administrators"
    if isinstance(entry, ProcedureEntry) and entry.cache:
        yield f"cached for {'each user' if entry.cache == 'user' else 'all users'}"
    if entry.availability != "REQUIRED":
        yield entry.availability
    if entry.deprecated_by is not None:
        yield f"deprecated: use {entry.deprecated_by}" if entry.deprecated_by else "deprecated"


def duration(seconds: float | None) -> str:
    """Return seconds in the unit that reads best.

    Example:
        >>> duration(0.00025), duration(0.0125), duration(90.0), duration(None)
        ('0.25 ms', '12.5 ms', '90 s', '-')
    """
    if seconds is None:
        return "-"
    # Rounded before the unit is chosen: what is nearly a second is one.
    rounded = float(f"{seconds:.3g}")
    return f"{rounded * 1000:g} ms" if rounded < 1 else f"{rounded:g} s"


def bound(seconds: float | None) -> str:
    """Return an upper bound of seconds as text, or the last bucket's bound if it is exceeded.

    Example:
        >>> bound(0.005), bound(math.inf)
        ('≤ 5 ms', '> 30 s')
    """
    if seconds is None:
        return "-"
    if seconds == math.inf:
        return f"> {duration(BUCKET_SECONDS[-1])}"
    return f"≤ {duration(seconds)}"
