"""The `runs` procedures through Cypher."""

import itertools

import pytest

_numbers = itertools.count()


class Runs:
    """Calls procedures in transactions of their own."""

    def __init__(self, session):
        self.session = session

    def call(self, name, *arguments):
        """Call a procedure; return its rows."""
        parameters = {f"a{number}": value for number, value in enumerate(arguments)}
        listed = ", ".join(f"${name}" for name in parameters)
        return self.session.run(f"CALL runs.{name}({listed})", parameters).data()

    def one(self, name, *arguments):
        """Call a procedure that gives one row; return it."""
        [row] = self.call(name, *arguments)
        return row

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
