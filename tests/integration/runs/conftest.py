"""The `runs` procedures through Cypher."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest
from fix_calls import Calls
from fix_waiting import wait_until

BLOCKED = "SHOW TRANSACTIONS YIELD status WHERE status STARTS WITH 'Blocked' RETURN status"

_numbers = itertools.count()


class Runs(Calls):
    """The `runs` procedures."""

    def __init__(self, session):
        super().__init__(session, "runs")

    def new(self, run_type="test", **options):
        """Begin a run; return its id."""
        return self.one("create", run_type, options)["id"]

    def append(self, run, type_name="status", /, *, options=None, **event):
        return self.one("append", run, {"type": type_name, **event}, options or {})

    def events(self, run, **options):
        return self.call("events", run, options)


@pytest.fixture
def runs(session):
    return Runs(session)


@pytest.fixture
def beside(driver, session):
    """Run a statement while a transaction of another is open; commit that once the first waits."""

    def run(statement):
        with driver.session() as waiting:
            return waiting.run(statement).data()

    def beside(first, second):
        with ThreadPoolExecutor(1) as pool, driver.session() as holder:
            with holder.begin_transaction() as transaction:
                transaction.run(first).consume()
                waiting = pool.submit(run, second)
                wait_until(lambda: session.run(BLOCKED).value())
                transaction.commit()
            return waiting.result()

    return beside


@pytest.fixture
def plan(runs):
    """Create plans, each in a run of its own; each call returns the row."""

    def make(**plan):
        return runs.one("plan.create", runs.new(), {"content": "Add a cache.", **plan})

    return make
