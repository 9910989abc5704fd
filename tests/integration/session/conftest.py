"""The `session` procedures through Cypher."""

import itertools

import pytest
from fix_calls import Calls

_numbers = itertools.count()


class Sessions(Calls):
    """The `session` procedures."""

    def __init__(self, session):
        super().__init__(session, "session")

    def define(self, steps, edges=(), **more):
        """Define a workflow; return its name.

        Args:
            steps: By id, the function and its input.
            edges: Tuples of two ids and the conditions, or a MAP.
        """
        name = f"workflow-{next(_numbers)}"
        listed = []
        for step, (function, given, *options) in steps.items():
            more_of_it = options[0] if options else {}
            listed.append({"id": step, "function": function, "input": given, **more_of_it})
        following = []
        for from_, to, *conditions in edges:
            edge = {"from": from_, "to": to}
            if conditions:
                edge["conditions"] = conditions
            following.append(edge)
        self.one("define", name, {"steps": listed, "next": following, **more})
        return name

    def start(self, workflow, **options):
        """Start a session; return its id."""
        return self.one("start", workflow, options)["sessionId"]

    def begin(self, steps, edges=(), **options):
        """Define a workflow and start a session of it; return its id."""
        return self.start(self.define(steps, edges), **options)

    def get(self, session):
        return self.one("get", session)["session"]

    def memory(self, session):
        return self.get(session)["memory"]

    def status(self, session):
        return self.get(session)["status"]

    def input(self, session, value, **options):
        return self.one("input", session, value, options)

    def run(self, session, **options):
        return self.one("run", session, options)

    def errors(self, session):
        return [each["error"] for each in self.get(session)["errors"]]

    def requests(self, session):
        return self.call("awaiting", {"sessionId": session})


@pytest.fixture
def sessions(session):
    return Sessions(session)
