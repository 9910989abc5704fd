"""Events of runs on two ways to the graph: by `runs.appendMany`, and carried by another process."""

import sys
import time
from pathlib import Path

import neo4j
import psutil

from benchmarks.installation import Installation

BATCH = 100
EVENT = {"type": "userMessage", "content": "some words of a message"}

_CREATE = "CALL runs.create('benchmark', {id: $id}) YIELD id RETURN id"
_MANY = "CALL runs.appendMany($run, $events) YIELD seq RETURN count(*) AS events"
_LAST = "MATCH (r:WorkflowRun {id: $run}) RETURN coalesce(r.lastSeq, 0) AS seq"


class Runs:
    """Runs of an installation, and processes that carry events to them.

    Attributes:
        session: A session of its Neo4j.
        installation: The installation.
    """

    def __init__(self, installation: Installation, session: neo4j.Session) -> None:
        self.session = session
        self.installation = installation

    def new_run(self) -> str:
        """Create a run; return its id."""
        run = f"run-{time.time_ns()}"
        self.session.run(_CREATE, id=run).consume()
        return run

    def launch(self, *command: str, log: Path, **variables: str) -> psutil.Popen:
        """Start a command of `sidecypher` with these settings."""
        with log.open("ab") as output:
            return psutil.Popen(
                [sys.executable, "-m", "sidecypher", *command],
                env=self.installation.environ | variables,
                stdout=output,
                stderr=output,
            )

    def last_event(self, run: str) -> int:
        """Return the number of a run's last event; 0 without any."""
        return int(self.session.run(_LAST, run=run).single(strict=True)["seq"])

    def await_event(self, run: str, seq: int, pause: float = 0.001) -> None:
        """Wait until a run has its event of this number; ask after each pause in seconds."""
        while self.last_event(run) < seq:
            time.sleep(pause)

    def append_many(self, batches: int) -> float:
        """Append batches to a new run; return the seconds of an event."""
        run, events = self.new_run(), [EVENT] * BATCH
        begun = time.perf_counter()
        for _ in range(batches):
            self.session.run(_MANY, run=run, events=events).consume()
        return (time.perf_counter() - begun) / (batches * BATCH)

    def await_carried(self, run: str, count: int) -> float:
        """Return the seconds of an event of which so many waited when a process began to carry."""
        self.await_event(run, 1)
        seen = self.last_event(run)
        begun = time.perf_counter()
        # Asking takes time of Neo4j, too.
        self.await_event(run, count, pause=0.05)
        return (time.perf_counter() - begun) / max(1, count - seen)
