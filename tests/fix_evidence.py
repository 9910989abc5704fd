"""What a fault leaves: a clear error, a line in a log, a number; and never a secret."""

import json
import secrets
import threading
import time

import httpx
import pytest
from fix_waiting import wait_until
from neo4j.exceptions import DriverError, Neo4jError
from prometheus_client.parser import text_string_to_metric_families

_OTHERS = (
    "SHOW TRANSACTIONS YIELD transactionId, currentQuery "
    "WHERE currentQuery STARTS WITH $begin AND NOT currentQuery STARTS WITH 'SHOW' "
    "RETURN transactionId"
)


class Caller(threading.Thread):
    """Runs a query on a thread of its own and keeps what came of it."""

    def __init__(self, driver, query, parameters):
        super().__init__(daemon=True)
        self.driver = driver
        self.query = query
        self.parameters = parameters
        self.rows = None
        self.error = None
        self.begun = time.monotonic()
        self.ended = None
        self.start()

    def run(self):
        try:
            with self.driver.session() as session:
                self.begun = time.monotonic()
                self.rows = session.run(self.query, self.parameters).data()
        except (Neo4jError, DriverError) as error:
            self.error = error
        self.ended = time.monotonic()


class Evidence:
    """Everything that one test makes the shared server say, from its start on.

    Attributes:
        payload: A text to pass as an argument; it must show up nowhere.
    """

    def __init__(self, server, driver, session):
        self.payload = f"payload {secrets.token_hex(12)}"
        self._server = server
        self._driver = driver
        self._session = session
        self._callers = []
        self._errors = []
        self._sizes = {path: path.stat().st_size for path in server.log_files()}
        self._metrics = self._read_metrics()

    def mark(self):
        """Return a mark for a body that no other body has."""
        return f"mark {secrets.token_hex(8)}"

    def call(self, query, *, driver=None, **parameters):
        """Run a query in the background, with the shared driver or another one."""
        self._callers.append(Caller(driver or self._driver, query, parameters))
        return self._callers[-1]

    def error(self, query, **parameters):
        """Run a query that must fail and return its error."""
        with pytest.raises(Neo4jError) as caught:
            self._session.run(query, parameters).consume()
        self._errors.append(caught.value)
        return caught.value

    def strike(self, query, *, before=lambda: None, **parameters):
        """Run a query until it fails, as it does when one of several sidecars is sick."""

        def failed():
            before()
            try:
                self._session.run(query, parameters).consume()
            except Neo4jError as error:
                return error
            return None

        self._errors.append(wait_until(failed))
        return self._errors[-1]

    def await_body(self, mark):
        """Wait until the body with this mark runs: a transaction is there before its body is."""
        begun = (
            "CALL test.running() YIELD value RETURN value "
            "UNION ALL CALL trouble.running() YIELD value RETURN value"
        )
        wait_until(lambda: mark in self._session.run(begun).value())

    def terminate(self, query=""):
        """Terminate the transactions of others whose query starts like this."""
        assert self._terminate(query), "nothing runs"

    def end(self):
        """Terminate whatever is left: a test that failed must not spoil the next one."""
        self._terminate("")

    def _terminate(self, query):
        found = self._session.run(_OTHERS, begin=query).value()
        if found:
            self._session.run("TERMINATE TRANSACTIONS $found", found=found).consume()
        return found

    def logged(self, event, *, within=30.0, by=lambda: None, **facts):
        """Wait until the sidecar has logged an event with these facts, and return its line.

        `by` is done until then: of what is turned away, one line a second is logged.
        """
        wanted = {"event": event, **facts}.items()

        def found():
            by()
            return next((line for line in self._sidecar_lines() if wanted <= line.items()), None)

        return wait_until(found, within)

    def metric(self, name, **labels):
        """Return a metric of the sidecar as it is now."""
        return self._read_metrics().get((name, frozenset(labels.items())), 0.0)

    def counted(self, name, **labels):
        """Wait until a metric of the sidecar has grown."""
        key = (name, frozenset(labels.items()))
        wait_until(lambda: self._read_metrics().get(key, 0) > self._metrics.get(key, 0))

    def counted_by_plugin(self, procedure, code):
        """Wait until the plugin has told a sidecar of one more call that ended with this code."""

        def count(metrics):
            wanted = {("procedure", procedure), ("code", code)}
            return sum(
                value
                for (name, labels), value in metrics.items()
                if name == "sidecypher_plugin_failures_total" and wanted <= labels
            )

        wait_until(lambda: count(self._read_metrics()) > count(self._metrics))

    def told_by_plugin(self, code):
        """Wait until the plugin has logged an error with this code."""
        self.told(f"[{code}]")

    def told(self, begin):
        """Wait until the plugin has logged a line that begins like this."""
        wait_until(lambda: any(f"Sidecypher: {begin}" in text for text in self._texts("neo4j.log")))

    def check(self):
        """Nothing is left behind: no transaction, no secret in any output; the next call works."""
        for caller in self._callers:
            caller.join(30)
            assert not caller.is_alive(), "a caller still waits"
        self._server.await_sidecar()
        assert self._session.run("CALL test.echo('works')").single()["value"] == "works"
        wait_until(lambda: not self._session.run(_OTHERS, begin="").values())
        self._check_secrets()

    def _check_secrets(self):
        errors = [*self._errors, *(caller.error for caller in self._callers)]
        outputs = [*self._texts(), *map(str, errors), *map(repr, errors)]
        for secret in (self.payload, *self._server.secrets):
            assert not any(secret in output for output in outputs)

    def _texts(self, name="*.log"):
        for path in self._server.log_files(name):
            with path.open(errors="replace") as file:
                file.seek(self._sizes.get(path, 0))
                yield file.read()

    def _sidecar_lines(self):
        for text in self._texts("sidecar.log"):
            for line in text.splitlines():
                if line.startswith('{"'):
                    yield json.loads(line)

    def _read_metrics(self):
        sidecar = self._server.sidecar
        if sidecar is None:
            return {}
        try:
            return read_metrics(sidecar)
        except httpx.HTTPError:
            return {}


def read_metrics(sidecar):
    """Return the metrics of an announced sidecar, by name and labels."""
    answer = httpx.get(f"http://127.0.0.1:{sidecar.http}/metrics", trust_env=False)
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


@pytest.fixture
def evidence(server, driver, session):
    """What the test makes the server say; afterwards nothing may be left behind."""
    found = Evidence(server, driver, session)
    yield found
    try:
        found.check()
    finally:
        found.end()
