"""Bring a graph to what the files say."""

from dataclasses import dataclass

import neo4j

from sidecypher_schema.chain import CONSTRAINT, Author
from sidecypher_schema.graph import Graph, connect
from sidecypher_schema.lock import LEASE_SECONDS, held, machine_user
from sidecypher_schema.plan import Plan, make_plan
from sidecypher_schema.runner import Runner, Tell, silent
from sidecypher_schema.scripts import Script, Scripts, shipped_scripts


@dataclass(frozen=True, slots=True)
class Migrated:
    """What a run has done.

    Attributes:
        applied: Scripts, with the seconds each took.
        triggers: Names of those that were installed, started or dropped.
        left_out: Names of those that could not be.
        why: Why they could not be, or empty.
    """

    applied: tuple[tuple[Script, float], ...]
    triggers: tuple[str, ...]
    left_out: tuple[str, ...]
    why: str


def migrate(
    driver: neo4j.Driver,
    scripts: Scripts | None = None,
    *,
    wait: float = 0.0,
    lease: float = LEASE_SECONDS,
    tell: Tell = silent,
) -> Migrated:
    """Apply what is pending and install the triggers; write nothing when all is done.

    Args:
        driver: The server, as a user who may change its schema.
        scripts: What its default database shall be brought to; without them, what ships.
        wait: Seconds to wait while another run is under way.
        lease: Seconds after which the lock of a run that crashed is free.
        tell: Told before each statement.

    Raises:
        SchemaError: Something was refused; what was applied before it is recorded.
    """
    scripts = shipped_scripts() if scripts is None else scripts
    graph = connect(driver)
    plan = make_plan(graph, scripts)
    if plan.is_empty:
        return _migrated(plan, scripts, [])
    with held(graph, wait=wait, lease=lease) as lock:
        # Another run may have done some of it meanwhile.
        plan = make_plan(graph, scripts)
        applied = _apply(plan, Runner(lock, author_of(graph), scripts.target, tell))
        lock.confirm()
        plan.triggers.carry_out()
    return _migrated(plan, scripts, applied)


def _apply(plan: Plan, runner: Runner) -> list[tuple[Script, float]]:
    if not plan.scripts:
        return []
    graph = runner.graph
    graph.run(CONSTRAINT)
    applied = []
    versions = [each.version for each in plan.chain]
    with plan.triggers.apoc.stopped():
        for script in plan.scripts:
            applied.append((script, runner.apply(script, versions)))
            if script.version not in versions:
                versions.append(script.version)
    return applied


def author_of(graph: Graph) -> Author:
    """Return who runs: the user of the machine, and that of Neo4j."""
    [row] = graph.run("SHOW CURRENT USER YIELD user")
    return Author(machine_user(), row["user"] or "")


def _migrated(plan: Plan, scripts: Scripts, applied: list[tuple[Script, float]]) -> Migrated:
    problem = plan.triggers.apoc.problem
    left_out = tuple(trigger.name for trigger in scripts.triggers) if problem else ()
    return Migrated(
        applied=tuple(applied),
        triggers=plan.triggers.names,
        left_out=left_out,
        why=problem if left_out else "",
    )
