"""Every transport carries each value of `tests/conformance/values.json`."""

import json
import re

import pytest
from conformance.cases import VALUES, same

TYPED = [case for case in VALUES if case.type != "ANY"]


def typed(case):
    """Return the procedure that takes a value of the case's type."""
    return "test.typed" + "".join(map(str.capitalize, re.findall(r"\w+", case.type)))


@pytest.mark.parametrize("case", VALUES, ids=str)
def test_a_value_goes_there_and_back(rows, case):
    """An argument of its own type, or of ANY, comes back as a column: equal and of its class."""
    for name in (typed(case), "test.echoAny"):
        [[back]] = rows(name, case.value)

        assert same(back, case.value)


@pytest.mark.parametrize("case", VALUES, ids=str)
def test_a_body_sees_the_value_of_the_file(rows, case):
    """A body is given the value that the file's JSON stands for, and can make it."""
    [[wire]] = rows("test.wire", case.value)
    [[made]] = rows("test.unwire", json.dumps(case.wire))

    assert json.loads(wire) == case.wire
    assert same(made, case.value)


@pytest.mark.not_over_http("it has no transaction")
@pytest.mark.parametrize("case", VALUES, ids=str)
def test_a_statement_is_given_the_value(rows, case):
    """A parameter of `ctx.run` comes back in its result: equal and of its class."""
    [[record]] = rows("test.run", "RETURN $value", {"value": case.value})

    assert same(record["given"]["value"], case.value)


@pytest.mark.parametrize("case", TYPED, ids=str)
def test_null_goes_there_and_back(rows, case):
    """A type that allows null carries it."""
    assert rows(typed(case), None) == [[None]]
