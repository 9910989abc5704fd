"""The contents of the pages, as plain values for their templates."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from sidecypher.operations.console import formats
from sidecypher.operations.console.charts import Chart, Values, charts, spark, table
from sidecypher.operations.console.formats import bound, duration
from sidecypher.protocol.catalogue import ProcedureEntry
from sidecypher.protocol.envelope import CachedCalls
from sidecypher.sdk.registry import Procedure
from sidecypher.sdk.samples import sample_call
from sidecypher.telemetry.history import Period, total
from sidecypher.telemetry.metrics import Summary

NO_CALLS: Final = Summary(calls=0, errors=0, mean=None, median=None, p95=None)

_BUSIEST: Final = 10


@dataclass(frozen=True, slots=True)
class Item:
    """A procedure or function in a list, with its numbers in the window.

    Attributes:
        marks: Its mode, executor and timeout, and other marks, a word each.
        spark: Paths of calls and of errors.
        calls, errors, half, most: Formatted numbers of the window.
        failing: Whether a call has failed in the window.
    """

    kind: str
    name: str
    description: str
    marks: tuple[str, ...]
    spark: tuple[str, str]
    calls: str
    errors: str
    half: str
    most: str
    failing: bool


@dataclass(frozen=True, slots=True)
class Detail:
    """A procedure or function on its own page.

    Attributes:
        options: Each described parameter and each field of its options, with its meaning.
        sample: A call with all that must be given.
    """

    kind: str
    name: str
    description: str
    marks: tuple[str, ...]
    usage: str
    options: tuple[tuple[str, str], ...]
    sample: str


@dataclass(frozen=True, slots=True)
class Namespace:
    """The procedures and functions of one namespace."""

    name: str
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Load:
    """What was called in the window, as charts and as a table."""

    charts: list[Chart]
    values: list[Values]
    calls: str
    errors: str
    most: str

    @classmethod
    def of(cls, histories: Iterable[Sequence[Period]], points: int, seconds: int) -> "Load":
        """Add up the histories of what is shown together."""
        periods = total(histories, points + 1)
        whole = Period.sum(periods)
        # The last period has not ended, so its rate would be too low.
        ended = periods[:-1]
        return cls(
            charts=charts(ended, seconds),
            values=table(ended, seconds),
            calls=formats.count(whole.calls),
            errors=formats.count(whole.errors),
            most=duration(whole.quantile(0.95)),
        )


@dataclass(frozen=True, slots=True)
class CacheRow:
    """What one Neo4j keeps of one procedure."""

    jvm: str
    procedure: str
    numbers: tuple[str, ...]


def namespaces(
    procedures: Iterable[Procedure], histories: Mapping[str, Sequence[Period]]
) -> list[Namespace]:
    """Return all procedures and functions, sorted by name."""
    ordered = sorted(procedures, key=lambda each: (each.name, each.kind))
    return [
        Namespace(name, tuple(_item(each, histories.get(each.name, ())) for each in found))
        for name, found in groupby(ordered, key=lambda each: each.name.partition(".")[0])
    ]


def busiest(
    procedures: Iterable[Procedure], histories: Mapping[str, Sequence[Period]]
) -> list[Item]:
    """Return what was called most in the window."""
    sums = {name: sum(each.calls for each in periods) for name, periods in histories.items()}
    called = [each for each in procedures if sums.get(each.name)]
    called.sort(key=lambda each: (-sums[each.name], each.name))
    return [_item(each, histories[each.name]) for each in called[:_BUSIEST]]


def _item(found: Procedure, periods: Sequence[Period]) -> Item:
    whole = Period.sum(periods)
    return Item(
        kind=found.kind,
        name=found.name,
        description=found.entry.description,
        marks=tuple(marks(found)),
        spark=spark(periods[:-1]),
        calls=formats.count(whole.calls),
        errors=formats.count(whole.errors),
        half=duration(whole.quantile(0.5)),
        most=duration(whole.quantile(0.95)),
        failing=whole.errors > 0,
    )


def detail(found: Procedure) -> Detail:
    """Return a procedure or function with its signature."""
    return Detail(
        kind=found.kind,
        name=found.name,
        description=found.entry.description,
        marks=tuple(marks(found)),
        usage=found.usage(),
        options=tuple(found.meanings()),
        sample=sample_call(found.entry),
    )


def since_start(summary: Summary) -> list[tuple[str, str]]:
    """Return the numbers since the start of the sidecar, each with its heading."""
    return [
        ("Calls", formats.count(summary.calls)),
        ("Errors", formats.count(summary.errors)),
        ("Mean", duration(summary.mean)),
        ("Half within", bound(summary.median)),
        ("95 % within", bound(summary.p95)),
    ]


def cache_rows(reports: Mapping[str, Iterable[CachedCalls]]) -> list[CacheRow]:
    """Return what each Neo4j keeps, by the names of its procedures."""
    return [
        CacheRow(
            jvm,
            each.procedure,
            (
                formats.count(each.hits),
                formats.count(each.hits_without_sidecar),
                formats.count(each.misses),
                formats.count(each.entries),
                formats.size(each.bytes),
            ),
        )
        for jvm, cached in sorted(reports.items())
        for each in sorted(cached, key=lambda each: each.procedure)
    ]


def marks(found: Procedure) -> Iterator[str]:
    """Yield how it is run and who may call it, a few words each."""
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
