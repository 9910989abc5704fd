"""A real PostgreSQL on a socket in a temporary folder."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import psutil
import psycopg
import pytest
from fix_waiting import wait_until
from psycopg.rows import dict_row

BIN = Path("/usr/lib/postgresql/15/bin")
_IS_ROOT = os.geteuid() == 0
# It refuses to run as root.
_USER = "postgres" if _IS_ROOT else pwd.getpwuid(os.geteuid()).pw_name


class PostgresServer:
    """A `postgres`.

    Attributes:
        folder: Where its socket and its data are.
        url: Its address, with the rights of its owner.
    """

    def __init__(self, folder):
        self.folder = folder
        self._log = folder / "postgres.log"
        self.url = self.url_of(_USER)
        self._process = None
        quiet = ["--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
        command = [str(BIN / "initdb"), "-D", str(folder / "data"), "-U", _USER, *quiet]
        subprocess.run(command, check=True, capture_output=True, cwd=folder, **self._as_user)
        self.start()

    @property
    def _as_user(self):
        return {"user": _USER} if _IS_ROOT else {}

    def url_of(self, user, password="", database="postgres"):
        """Return its address for a user."""
        return f"postgresql://{user}:{password}@/{database}?host={self.folder}"

    def start(self):
        """Start it, with what it had committed."""
        options = ["-D", str(self.folder / "data"), "-k", str(self.folder), "-h", ""]
        with self._log.open("ab") as output:
            self._process = psutil.Popen(
                [str(BIN / "postgres"), *options],
                stdout=output,
                stderr=output,
                cwd=self.folder,
                **self._as_user,
            )
        wait_until(self._answers)

    def _answers(self):
        assert self._process.poll() is None, self._log.read_text()
        try:
            with psycopg.connect(self.url):
                return True
        except psycopg.OperationalError:
            return False

    def kill(self):
        """End all of its processes at once."""
        killed = [self._process, *self._process.children(recursive=True)]
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        # They end by themselves when they notice, and it does not start before.
        psutil.wait_procs(killed[1:], 20)

    def stop(self):
        if self._process.poll() is None:
            # Without waiting for clients.
            self._process.send_signal(signal.SIGINT)
            self._process.wait(20)

    def run(self, statement, *params):
        """Run a statement in a transaction of its own; return its rows."""
        with psycopg.connect(self.url, row_factory=dict_row) as conn:
            cursor = conn.execute(statement, params or None)
            return cursor.fetchall() if cursor.description else []


def _new_folder():
    # Not below the folder of the test, whose path may be too long for a socket, or not open to
    # another user.
    folder = Path(tempfile.mkdtemp(prefix="sidecypher-postgres-"))
    if _IS_ROOT:
        shutil.chown(folder, _USER)
    return folder


def _started():
    if not BIN.exists():
        assert "CI" not in os.environ, "CI needs PostgreSQL 15"
        pytest.skip(f"PostgreSQL is not tested: there is no {BIN} here")
    folder = _new_folder()
    found = PostgresServer(folder)
    yield found
    found.stop()
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def shared_postgres():
    """One PostgreSQL for all tests that change nothing about it."""
    yield from _started()


@pytest.fixture
def postgres_server(shared_postgres):
    """The shared PostgreSQL, without the tables of sidecypher."""
    shared_postgres.run("DROP SCHEMA IF EXISTS sidecypher CASCADE")
    return shared_postgres


@pytest.fixture
def own_postgres():
    """A PostgreSQL for this test alone."""
    yield from _started()
