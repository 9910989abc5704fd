"""Processes that carry events to the shared server, and the events that have arrived."""

import json

import httpx
import psutil
from docs.pages import code_in, rows, section
from fix_calls import Calls
from fix_waiting import wait_until


def listed_metrics(page):
    """Return the names of metrics that a page lists, and of those that each process has."""
    own = rows(section(page, "Lag"), "metric")
    every = rows(section("docs/telemetry.md", "Metrics"), "metric")
    names = {code_in(row[0])[0] for row in every}
    return {code_in(row[0])[0] for row in own} | {each for each in names if each[:8] == "process_"}


class Carrying:
    """Processes between a source of events and the shared server.

    Args:
        variables: Settings of the processes.

    Attributes:
        runs: The `runs` procedures.
    """

    def __init__(self, server, session, log, variables):
        self.runs = Calls(session, "runs")
        self.variables = variables
        self.started = []
        self._server = server
        self._log = log

    def launch(self, *command, **variables):
        """Start a command with these settings; return its process."""
        with self._log.open("ab") as output:
            process = psutil.Popen(
                command,
                env=self._server.environ | self.variables | variables,
                stdout=output,
                stderr=output,
            )
        self.started.append(process)
        return process

    @property
    def log(self):
        """What the processes have logged."""
        return self._log.read_text()

    def metrics(self):
        """Return the values at `/metrics` of the only process, whose log is JSON, by name."""
        [line] = [line for line in self.log.splitlines() if "sync.metrics" in line]
        answer = httpx.get(f"http://127.0.0.1:{json.loads(line)['port']}/metrics")
        samples = [line.split(" ") for line in answer.text.splitlines() if not line.startswith("#")]
        return {name: float(value) for name, value in samples}

    def new_run(self):
        """Create a run; return its id."""
        return self.runs.one("create", "test", {})["id"]

    def contents(self, run):
        """Return the texts of a run's events in order, without that of its beginning."""
        rows = self.runs.call("events", run, {"types": ["userMessage"]})
        return [row["event"]["content"] for row in rows]

    def await_contents(self, run, contents, seconds=30):
        """Wait until a run has messages of these texts, in this order."""
        try:
            wait_until(lambda: self.contents(run) == contents, seconds)
        except AssertionError:
            found = f"{self.contents(run)}\n{self.log}"
            raise AssertionError(found) from None

    def stop(self):
        for process in self.started:
            if process.poll() is None:
                process.terminate()
        _, left = psutil.wait_procs(self.started, 20)
        for process in left:
            # Left running, it would take the events of all tests that follow.
            process.kill()
            process.wait()
        assert not left, "a process did not end"
