"""Workers in processes of their own, between a real PostgreSQL and the shared server."""

import json
import sys

import psutil
import psycopg
import pytest
from fix_calls import Calls
from fix_waiting import wait_until

from sidecypher_procedures.sync.postgres.outbox import PostgresOutbox


class Outbox:
    """An outbox, and workers that write it to the shared server.

    Attributes:
        postgres: The PostgreSQL.
        runs: The `runs` procedures.
    """

    def __init__(self, server, postgres, session, folder):
        self._server = server
        self._log = folder / "worker.log"
        self._started = []
        self._outbox = PostgresOutbox("sidecypher")
        self.postgres = postgres
        self.runs = Calls(session, "runs")
        self.variables = {"SIDECYPHER_POSTGRES_URL": postgres.url}

    def start(self, **variables):
        """Start a worker; return its process."""
        return self.launch(
            sys.executable, "-m", "sidecypher", "sync", "postgres", "run", **variables
        )

    def launch(self, *command, **variables):
        """Start a command with the settings of a worker; return its process."""
        with self._log.open("ab") as output:
            process = psutil.Popen(
                command,
                env=self._server.environ | self.variables | variables,
                stdout=output,
                stderr=output,
            )
        self._started.append(process)
        return process

    def command(self, *arguments):
        """Run a command of `sidecypher sync postgres`; return what it printed as JSON."""
        done = self.fail(*arguments)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def fail(self, *arguments, **variables):
        """Run a command of `sidecypher sync postgres`; return how it ended."""
        return self._server.command(
            "sync", "postgres", *arguments, "--json", **self.variables, **variables
        )

    @property
    def log(self):
        """What the workers have logged."""
        return self._log.read_text()

    def new_run(self):
        """Create a run; return its id."""
        return self.runs.one("create", "test", {})["id"]

    def add(self, run, *contents, **more):
        """Add events in one transaction; return the id of the last one."""
        with psycopg.connect(self.postgres.url) as conn:
            for content in contents:
                event = {"type": "userMessage", "content": content, **more}
                event_id = self._outbox.add(conn, run, event)
        return event_id

    def rows(self, run=None):
        """Return the rows of a run in the outbox, or all of them."""
        query = "SELECT * FROM sidecypher.outbox WHERE run_id = coalesce(%s, run_id) ORDER BY id"
        return self.postgres.run(query.replace("*", "id, event_id, attempts, code, reason"), run)

    def status(self):
        """Return the state of the outbox."""
        return self.command("status")

    def dead(self):
        """Return the dead letters as they are listed."""
        return self.command("dead")

    def await_dead(self, count):
        """Wait until there are so many dead letters; return them as they are listed."""
        query = "SELECT count(*) AS dead FROM sidecypher.outbox WHERE dead_at IS NOT NULL"
        wait_until(lambda: self.postgres.run(query)[0]["dead"] == count)
        return self.dead()

    def contents(self, run):
        """Return the texts of a run's events in order."""
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
        for process in self._started:
            if process.poll() is None:
                process.terminate()
        _, left = psutil.wait_procs(self._started, 20)
        for process in left:
            process.kill()
            process.wait()
        assert not left, "a worker did not end"


@pytest.fixture
def outbox(server, postgres_server, session, tmp_path):
    found = Outbox(server, postgres_server, session, tmp_path)
    found.command("init")
    yield found
    found.stop()
