"""`python -m benchmarks.sessions`: the cost of a step of a session, and what kills cost."""

import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

import neo4j

from benchmarks.figures import Bar, Figure, ratio, summarise
from benchmarks.installation import Installation, ended, installed
from benchmarks.measures import Samples, scale_of, seconds_of
from benchmarks.report import table

_BARE = "CREATE (:Bare {id: randomUUID()})"
_DEFINE = "CALL session.define($workflow, $spec)"
_START = "CALL session.start($workflow, $options) YIELD sessionId RETURN sessionId AS id"
_STEP = "CALL session.step($id)"
_GET = "CALL session.get($id)"
_MANY = """
    UNWIND range(1, $count) AS number
    CALL session.start($workflow, {run: false}) YIELD sessionId
    RETURN count(sessionId) AS sessions
"""
# A loop has no end: the workers of a later measurement would run it, too.
_CANCEL_LOOPS = """
    MATCH (s:SESSION {status: 'active'})
    CALL session.cancel(s.id) YIELD cancelled FINISH
"""
_ENDED = """
    MATCH (s:SESSION {workflow: $workflow}) RETURN s.status AS status, count(*) AS sessions
"""
# Steps from the first to the last output, so that the start of the workers does not count.
_RATE = """
    MATCH (s:SESSION {workflow: $workflow})-[:HAS_OUTPUT]->(o)
    WITH count(o) AS steps, min(o.createdAt) AS begun, max(o.createdAt) AS ended
    RETURN steps * 1000.0 / duration.inSeconds(begun, ended).milliseconds AS rate
"""
_WRONG = """
    MATCH (s:SESSION {workflow: $workflow})
    WITH s, COUNT { (s)-[:HAS_OUTPUT]->() } AS outputs,
        COUNT { MATCH (s)-[:HAS_OUTPUT]->(o) RETURN DISTINCT o.stepId } AS steps
    RETURN sum(outputs - steps) AS repeated, sum($steps - steps) AS lost,
        sum(CASE s.status WHEN 'completed' THEN 0 ELSE 1 END) AS unended
"""
_TURN = 20


@dataclass(frozen=True)
class Scale:
    """Size of the measurement.

    Attributes:
        steps: Steps that are run one by one, in turns with bare nodes.
        long: Cycles of the long loop.
        sessions: Sessions of the measurement of rates, of five steps each.
        waiting: Sessions whose steps wait, of three steps each.
        outputs: Outputs of the session that is read.
        killed: Sessions that run while sidecars are killed, of 20 steps each.
        kills: How often one is killed.
        runs: Repetitions of the whole measurement.
    """

    steps: int = 300
    long: int = 10_000
    sessions: int = 1000
    waiting: int = 200
    outputs: int = 1000
    killed: int = 200
    kills: int = 5
    runs: int = 3


QUICK = Scale(steps=20, long=100, sessions=10, waiting=8, outputs=50, killed=4, kills=1, runs=1)

FIGURES = (
    Figure("step_to_bare", "step / bare node", "x", ratio("step", "bare"), Bar(4)),
    Figure("step", "`session.step` of a `set` step", "ms"),
    Figure("bare", "bare one-node write", "ms"),
    Figure(
        "late_to_early", "step at cycle 10 000 / at cycle 10", "x", ratio("late", "early"), Bar(1.2)
    ),
    Figure("two_rate", "1 000 sessions by 2 sidecars", "steps/s", bar=Bar(150, at_least=True)),
    Figure("one_rate", "the same by one", "steps/s"),
    Figure(
        "two_to_one",
        "2 sidecars / one, where steps wait",
        "x",
        ratio("two_waiting", "one_waiting"),
        Bar(1.6, at_least=True),
    ),
    Figure("get", "`session.get` of 1 000 outputs", "ms", bar=Bar(50)),
    Figure("repeated", "outputs that kills repeated", "outputs", bar=Bar(0)),
    Figure("lost", "outputs that kills lost", "outputs", bar=Bar(0)),
    Figure("unended", "sessions that did not end", "sessions", bar=Bar(0)),
)


def main() -> None:
    """Measure and print the table."""
    scale = scale_of("sessions", main.__doc__, QUICK, Scale())
    with installed() as installation:
        installation.command("migrate")
        runs = measure(installation, scale)
    print(table(summarise(runs, FIGURES)))


def measure(installation: Installation, scale: Scale) -> list[Samples]:
    """Measure after a small run that warms everything up, unless the measurement is small too."""
    if scale is not QUICK:
        _take(installation, QUICK)
    return [_take(installation, scale) for _ in range(scale.runs)]


def _take(installation: Installation, scale: Scale) -> Samples:
    samples = _steps(installation.driver, scale)
    samples |= _reads(installation.driver, scale)
    installation.driver.execute_query(_CANCEL_LOOPS)
    for count, name in ((1, "one"), (2, "two")):
        samples[f"{name}_rate"] = _rate(installation, count, scale.sessions, _set(5))
        # A sidecar runs 16 sessions at a time, so 16 such steps a second: Neo4j has time.
        waiting = {"function": "bench.wait", "input": {"seconds": 1}}
        samples[f"{name}_waiting"] = _rate(installation, count, scale.waiting, [waiting] * 3)
    return samples | _kills(installation, scale)


def _set(count: int) -> list[dict[str, Any]]:
    return [{"function": "set", "input": {"n": number}} for number in range(count)]


def _define(session: neo4j.Session, steps: Sequence[dict[str, Any]], *, loop: bool = False) -> str:
    """Define a chain of steps, of which the last leads to the first in a loop; return its name."""
    workflow = f"bench-{time.monotonic_ns()}"
    names = ["root", *(f"step-{number}" for number in range(1, len(steps)))]
    edges = list(pairwise(names))
    if loop:
        edges.append((names[-1], "root"))
    spec = {
        "steps": [{"id": name, **step} for name, step in zip(names, steps, strict=True)],
        "next": [{"from": begin, "to": end} for begin, end in edges],
    }
    session.run(_DEFINE, workflow=workflow, spec=spec).consume()
    return workflow


def _loop(session: neo4j.Session, cycles: int) -> str:
    """Start a session that has run a loop of one step; return its id."""
    workflow = _define(session, _set(1), loop=True)
    options = {"run": False, "maxRounds": 1_000_000}
    name: str = session.run(_START, workflow=workflow, options=options).single(strict=True)["id"]
    while cycles > 0:
        # Many steps of one transaction, as a worker runs them.
        part = min(cycles, 500)
        session.run(
            "UNWIND range(1, $n) AS n CALL session.step($id) YIELD status FINISH", id=name, n=part
        ).consume()
        cycles -= part
    return name


def _steps(driver: neo4j.Driver, scale: Scale) -> Samples:
    """Run steps in turns with bare nodes, and in a long loop in turns with a short one."""
    taken: dict[str, list[float]] = {"step": [], "bare": [], "late": [], "early": []}
    with driver.session() as session:
        name, late = _loop(session, 1), _loop(session, scale.long)
        for _ in range(scale.steps // _TURN):
            taken["step"] += _timed(session, _STEP, id=name)
            taken["bare"] += _timed(session, _BARE)
            early = _loop(session, 10)
            taken["late"] += _timed(session, _STEP, id=late)
            taken["early"] += _timed(session, _STEP, id=early)
    return {name: median(each) for name, each in taken.items()}


def _reads(driver: neo4j.Driver, scale: Scale) -> Samples:
    with driver.session() as session:
        name = _loop(session, scale.outputs)
        return {"get": median(_timed(session, _GET, id=name))}


def _timed(session: neo4j.Session, statement: str, **parameters: Any) -> list[float]:
    """Return the seconds of calls, answer and commit included."""
    return [seconds_of(lambda: session.run(statement, parameters).consume()) for _ in range(_TURN)]


def _rate(
    installation: Installation, workers: int, sessions: int, steps: list[dict[str, Any]]
) -> float:
    """Return the steps per second of workers that run sessions to their end."""
    with installation.driver.session() as session:
        workflow = _define(session, steps)
        session.run(_MANY, workflow=workflow, count=sessions).consume()
        with _workers(installation, workers):
            _await_end(session, workflow, 600)
        rate: float = session.run(_RATE, workflow=workflow).single(strict=True)["rate"]
    return rate


def _kills(installation: Installation, scale: Scale) -> Samples:
    """Kill one of two workers again and again while they run sessions of 20 steps."""
    # Every other step runs outside of a transaction, under a claim.
    wait = {"function": "bench.wait", "input": {"seconds": 0.02}, "timeoutMs": 1000}
    steps = [wait if number % 2 else _set(1)[0] for number in range(20)]
    with installation.driver.session() as session:
        workflow = _define(session, steps)
        session.run(_MANY, workflow=workflow, count=scale.killed).consume()
        with _workers(installation, 2) as processes:
            for number in range(scale.kills):
                _await_outputs(session, workflow, (number + 1) / (scale.kills + 1), steps, scale)
                victim = processes[number % 2]
                victim.kill()
                victim.wait()
                processes[number % 2] = _start_worker(installation)
            _await_end(session, workflow, 600)
            found = session.run(_WRONG, workflow=workflow, steps=len(steps)).single(strict=True)
            return {name: float(found[name]) for name in ("repeated", "lost", "unended")}


def _await_outputs(
    session: neo4j.Session, workflow: str, share: float, steps: list[Any], scale: Scale
) -> None:
    wanted = share * scale.killed * len(steps)
    statement = "MATCH (:SESSION {workflow: $w})-[:HAS_OUTPUT]->(o) RETURN count(o) AS n"
    _until(lambda: session.run(statement, w=workflow).single(strict=True)["n"] >= wanted, 600)


def _await_end(session: neo4j.Session, workflow: str, seconds: float) -> None:
    def is_over() -> bool:
        found = session.run(_ENDED, workflow=workflow).data()
        return all(row["status"] != "active" for row in found)

    _until(is_over, seconds)


def _until(condition: Any, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.1)


@contextmanager
def _workers(installation: Installation, count: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Start sidecars that run due sessions; stop those that are there when the block ends."""
    processes = [_start_worker(installation) for _ in range(count)]
    try:
        yield processes
    finally:
        with ExitStack() as stack:
            for process in processes:
                stack.enter_context(ended(process))


def _start_worker(installation: Installation) -> "subprocess.Popen[bytes]":
    return installation.serve(SIDECYPHER_SESSION_WORKER="true")


if __name__ == "__main__":
    main()
