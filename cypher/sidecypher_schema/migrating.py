"""Apply migrations and triggers to a graph."""

from dataclasses import dataclass

import neo4j

from sidecypher_schema.chain import CONSTRAINT, Author
from sidecypher_schema.graph import Graph, connect
from sidecypher_schema.lock import LEASE_SECONDS, held, machine_user
from sidecypher_schema.plan import Plan, make_plan
from sidecypher_schema.runner import BeforeStatement, Runner, ignore_statement
from sidecypher_schema.scripts import Script, Scripts, shipped_scripts


@dataclass(frozen=True, slots=True)
class Migrated:
    """Result of a run.

    Attributes:
        applied: Scripts, with the seconds each took.
        triggers: Names of triggers that were installed, started or dropped.
        left_out: Names of triggers that could not be installed.
        why: Reason why they could not be installed, or empty.
    """

    applied: tuple[tuple[Script, float], ...]
    triggers: tuple[str, ...]
    left_out: tuple[str, ...]
    why: str


def migrate(
    driver: neo4j.Driver,
    scripts: Scripts | None = None,
    *,
    database: str | None = None,
    wait: float = 0.0,
    lease: float = LEASE_SECONDS,
    before_each: BeforeStatement = ignore_statement,
) -> Migrated:
    """Apply pending scripts and install triggers; write nothing if all is done.

    Args:
        driver: The server, as a user who may change its schema.
        scripts: Scripts to apply; by default those that ship with sidecypher.
        database: Name of the database; by default the user's.
        wait: Seconds to wait while another run is in progress.
        lease: Seconds after which the lock of a crashed run is free.
        before_each: Called before each statement.

    Raises:
        SchemaError: Something was refused; scripts applied before it are recorded.
    """
    scripts = shipped_scripts() if scripts is None else scripts
    graph = connect(driver, database)
    plan = make_plan(graph, scripts)
    if plan.is_empty:
        return _migrated(plan, scripts, [])
    with held(graph, wait=wait, lease=lease) as lock:
        # Another run may have done some of it meanwhile.
        plan = make_plan(graph, scripts)
        applied = _apply(plan, Runner(lock, author_of(graph), scripts.target, before_each))
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
    """Return the author of a run: the user of the machine, and that of Neo4j."""
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
