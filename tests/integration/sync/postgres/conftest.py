"""Workers in processes of their own, between a real PostgreSQL and the shared server."""

import json
import sys

import psycopg
import pytest
from fix_waiting import wait_until
from integration.sync.carrying import Carrying

from sidecypher_procedures.sync.postgres.outbox import PostgresOutbox


class Outbox(Carrying):
    """An outbox, and workers that write it to the shared server.

    Attributes:
        postgres: The PostgreSQL.
    """

    def __init__(self, server, postgres, session, folder):
        variables = {"SIDECYPHER_POSTGRES_URL": postgres.url}
        super().__init__(server, session, folder / "worker.log", variables)
        self._outbox = PostgresOutbox("sidecypher")
        self.postgres = postgres

    def start(self, **variables):
        """Start a worker; return its process."""
        return self.launch(
            sys.executable, "-m", "sidecypher", "sync", "postgres", "run", **variables
        )

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


@pytest.fixture
def outbox(server, postgres_server, session, tmp_path):
    found = Outbox(server, postgres_server, session, tmp_path)
    found.command("init")
    yield found
    found.stop()
