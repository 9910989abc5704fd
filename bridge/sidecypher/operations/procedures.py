"""`sidecypher.*`: procedures about the sidecar itself."""

import os
import platform
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from importlib.metadata import version
from typing import Annotated

from msgspec import structs

from sidecypher import Context, Description, Row, procedure
from sidecypher.calls.executors.execution import RunningCall
from sidecypher.errors import DeadlineExceeded
from sidecypher.loading.loader import Unit
from sidecypher.operations._forwarding import call, call_write
from sidecypher.operations.control import Inspector
from sidecypher.protocol.catalogue import ProcedureEntry
from sidecypher.protocol.envelope import VERSION
from sidecypher.sdk.caching import invalidate_all
from sidecypher.sdk.registry import Procedure

__all__ = [
    "Inspector",
    "cache",
    "call",
    "call_write",
    "clear_cache",
    "graph_size",
    "health",
    "info",
    "procedures",
    "reload",
    "running",
]


class Info(Row):
    """One sidecar."""

    version: str
    python: str
    protocol: Annotated[int, Description("version of the envelope")]
    pid: int
    generation: Annotated[str, Description("identity of this start")]
    started_at: datetime
    catalogue: Annotated[str, Description("hash of all signatures")]
    procedures: Annotated[int, Description("procedures and functions in service")]
    left_out: Annotated[int, Description("modules that could not be loaded")]
    open_calls: int


class Listed(Row):
    """A procedure or function, or a module with a problem."""

    name: str
    kind: Annotated[str, Description("procedure, function or module")]
    mode: str | None = None
    signature: str | None = None
    description: str | None = None
    module: Annotated[str, Description("entry point or file")]
    timeout: Annotated[float | None, Description("seconds")] = None
    executor: str | None = None
    availability: str | None = None
    problem: Annotated[str | None, Description("why its module could not be loaded")]


class Checked(Row):
    """One check."""

    check: str
    ok: bool
    problem: str | None


class Counted(Row):
    """Number of nodes with a label, or of relationships of a type."""

    kind: Annotated[str, Description("node or relationship")]
    name: Annotated[str, Description("label or type")]
    count: int


class Cached(Row):
    """Rows of one procedure that one Neo4j keeps."""

    jvm: Annotated[str, Description("identity of Neo4j's JVM")]
    procedure: str
    hits: Annotated[int, Description("calls that were answered with them since Neo4j started")]
    hits_without_sidecar: Annotated[int, Description("those while no sidecar could be called")]
    misses: Annotated[int, Description("calls without rows that were kept")]
    entries: Annotated[int, Description("calls whose rows are kept")]
    bytes: Annotated[int, Description("size of those rows, estimated")]


class Cluster(Row):
    """The Ray cluster of this sidecar."""

    address: Annotated[str | None, Description("the setting `ray_address`")]
    procedures: Annotated[int, Description("procedures that need it, with their batches")]
    nodes: Annotated[int, Description("that are alive; 0 while it is not connected")]
    cpus: float
    tasks: Annotated[int, Description("calls that it runs, or that wait there")]
    problem: Annotated[str | None, Description("why it runs no calls")]


class Changed(Row):
    """Change of a procedure by a reload, or of a module without procedures."""

    module: str
    name: str | None
    state: Annotated[
        str, Description("added, changed, signature changed, options changed, removed or failed")
    ]
    detail: Annotated[str, Description("what to do or to know")]


@procedure("sidecypher.info")
def info(ctx: Context) -> Info:
    """Return the version, identity and size of the sidecar."""
    inspector = ctx.resource(Inspector)
    registry = inspector.loaded.registry
    return Info(
        version=version("sidecypher"),
        python=platform.python_version(),
        protocol=VERSION,
        pid=os.getpid(),
        generation=inspector.dispatcher.generation,
        started_at=inspector.started_at,
        catalogue=registry.catalogue.hash,
        procedures=len(registry),
        left_out=len(inspector.loaded.failures),
        open_calls=len(inspector.dispatcher.calls),
    )


@procedure("sidecypher.procedures")
def procedures(ctx: Context) -> Iterator[Listed]:
    """List the procedures and functions in service, and the modules that could not be loaded."""
    for part in ctx.resource(Inspector).loaded.parts.values():
        for unit in part.units:
            yield from _listed(unit)


@procedure("sidecypher.health")
def health(ctx: Context) -> Iterator[Checked]:
    """List the conditions for serving calls and the state of shared objects."""
    for check, problem in ctx.resource(Inspector).health().items():
        yield Checked(check=check, ok=problem is None, problem=problem)


@procedure("sidecypher.running", admin=True)
def running(ctx: Context) -> Iterator[RunningCall]:
    """List calls that are being served or have rows left, except this one."""
    for each in ctx.resource(Inspector).dispatcher.calls.running():
        if each.call_id != ctx.call_id:
            yield each


@procedure("sidecypher.graphSize", admin=True)
def graph_size(ctx: Context) -> Iterator[Counted]:
    """Count the nodes of each label, and the relationships of each type.

    Neo4j keeps these counts itself, so the call takes the same time however large the graph is.
    """
    found = ctx.run("CALL db.stats.retrieve('GRAPH COUNTS') YIELD data RETURN data").single()
    for kind, counts, key in (
        ("node", found["data"]["nodes"], "label"),
        ("relationship", found["data"]["relationships"], "relationshipType"),
    ):
        for each in counts:
            # The other entries count all, or relationships by the label at one end.
            if key in each and not {"startLabel", "endLabel"} & each.keys():
                yield Counted(kind=kind, name=each[key], count=each["count"])


@procedure("sidecypher.cache")
def cache(ctx: Context) -> Iterator[Cached]:
    """List the procedures whose rows Neo4j keeps, as it told within the last second."""
    for jvm, reported in ctx.resource(Inspector).dispatcher.cached_calls().items():
        for each in reported:
            yield Cached(jvm=jvm, **structs.asdict(each))


@procedure("sidecypher.cluster")
def cluster(ctx: Context) -> Cluster:
    """Return the state of the Ray cluster on which procedures with `executor="ray"` run."""
    inspector = ctx.resource(Inspector)
    state = inspector.dispatcher.cluster_state()
    return Cluster(
        address=state.address or None,
        procedures=sum(found.executor == "ray" for found in inspector.loaded.registry),
        nodes=state.nodes,
        cpus=state.cpus,
        tasks=state.tasks,
        problem=state.problem,
    )


@procedure("sidecypher.clearCache", admin=True)
def clear_cache() -> None:
    """Make all rows void that Neo4j keeps."""
    invalidate_all()


@procedure("sidecypher.reload", timeout=120.0, admin=True)
def reload(ctx: Context) -> list[Changed]:
    """Load changed procedures again; running calls keep the code they started with."""
    try:
        changes = ctx.resource(Inspector).reload(ctx.call_id, ctx.deadline.remaining())
    except TimeoutError:
        raise DeadlineExceeded("Another reload did not end", hint="Ask again later.") from None
    return [Changed(**asdict(each)) for each in changes]


def _listed(unit: Unit) -> Iterator[Listed]:
    for found in unit.procedures:
        yield _described(found, unit)
    problems = [f"warning: {what}" for what in unit.warnings]
    if unit.public_failure is not None and not unit.procedures:
        problems.insert(0, unit.public_failure)
    for problem in problems:
        yield Listed(name=unit.name, kind="module", module=unit.name, problem=problem)


def _described(found: Procedure, unit: Unit) -> Listed:
    entry = found.entry
    return Listed(
        name=found.name,
        kind=found.kind,
        mode=entry.mode if isinstance(entry, ProcedureEntry) else None,
        signature=found.usage(),
        description=entry.description,
        module=unit.name,
        timeout=entry.timeout_ms / 1000,
        executor=found.executor,
        availability=entry.availability,
        problem=unit.public_failure,
    )
