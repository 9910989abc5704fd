"""Workflow files: what is wrong with one is located, and nothing of it is accepted."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecypher_procedures.session.errors import InvalidWorkflow
from sidecypher_procedures.session.people.files import _Text, read_workflow_file

STEP = {"id": "root", "function": "set"}


@pytest.fixture
def read(tmp_path):
    """Read a file with a text."""

    def read(text):
        path = tmp_path / "triage.json"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_workflow_file(path)

    return read


def refused(read, text):
    with pytest.raises(InvalidWorkflow) as error:
        read(text)
    return error.value.message


def test_a_file_is_the_argument_of_define(read):
    """The name is taken out, and all else is as it was written; a byte-order mark is no error."""
    spec = {"steps": [{**STEP, "input": {"a": [1, None, 2.5]}}], "next": [], "entry": "root"}
    text = json.dumps({"workflow": "triage", **spec})

    found = read("\ufeff" + text)

    assert (found.name, found.spec) == ("triage", spec)
    assert read(json.dumps(spec)).name is None


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        ("", "line 1, column 1", "is not JSON"),
        ('{\n  "steps": [}\n', "line 2, column 13", "is not JSON"),
        ("[]", "line 1, column 1", "is not a JSON object"),
        ('{"workflow": 3, "steps": []}', "line 1, column 2", "`workflow`"),
        ('{"workflow": " ", "steps": []}', "line 1, column 2", "`workflow`"),
        ('{"steps": [],\n "steps": []}', "line 2, column 2", "the key `steps` twice"),
        (
            '{"steps": [{"id": "a",\n  "input": {"b": 1, "b": 2}}]}',
            "line 2, column 21",
            "the key `steps[0].input.b` twice",
        ),
        ('{"steps": [\n {"id": "root", "functon": "set"}]}', "line 2, column 17", "`functon`"),
        ('{"steps": [{"id": "root"}]}', "line 1, column 12", "`steps[0].function` is missing"),
        ('{"steps": [{"id": 7, "function": "set"}]}', "line 1, column 13", "`steps[0].id`"),
        ('{"steps": []}', "line 1, column 2", "`steps`"),
        ("{}", "line 1, column 1", "`steps` is missing"),
        ('{"stepz": []}', "line 1, column 2", "`stepz`"),
        ('{"steps": [], "next": [{"from": "a"}]}', "line 1, column 24", "`next[0].to` is missing"),
        ('{"x": NaN}', "line 1, column 7", "a number"),
        ('{"x": [1,\n 1e999]}', "line 2, column 2", "a number"),
        ('{"x": 9223372036854775808}', "line 1, column 7", "a number"),
    ],
)
def test_what_is_wrong_is_located(read, text, place, what):
    """The error has the file, line and column, and the field or the key."""
    message = refused(read, text)

    assert message.startswith(f"`triage.json`, {place}: it ")
    assert what in message


def test_what_cannot_be_read_is_an_error(read, tmp_path):
    """Bytes that are not text, a depth without end, and a file that is not there."""
    assert refused(read, b'{"a": "\xff"}') == "`triage.json` is not text in UTF-8, from byte 7 on"
    assert "a depth" in refused(read, "[" * 100_000)
    with pytest.raises(InvalidWorkflow, match="cannot be read"):
        read_workflow_file(tmp_path / "none.json")
    with pytest.raises(InvalidWorkflow, match="cannot be read"):
        read_workflow_file(tmp_path)


def test_an_unpaired_surrogate_is_an_error(read):
    """A text that Neo4j cannot store is refused before anything is sent."""
    step = json.dumps({**STEP, "input": {"a": "\ud800"}})

    assert "surrogate" in refused(read, f'{{"steps": [{step}]}}')


def test_findings_have_lines(read):
    """Each finding of a step has the line on which the step begins."""
    found = read(
        """{"steps": [
            {"id": "root", "function": "request"},
            {"id": "far", "function": "set", "input": {"a": "@{SESSION_ID}.none.x"}}
        ]}"""
    ).findings()

    assert [(line, each.severity, each.step_id, each.where) for line, each in found] == [
        (2, "error", "root", "input"),
        (3, "error", "far", "input"),
        (3, "warning", "far", "NEXT"),
    ]


def test_a_function_of_another_package_is_a_warning(read):
    """Without a sidecar, no file can be refused for a function that an author has declared."""
    [(line, found)] = read(json.dumps({"steps": [{**STEP, "function": "sett"}]})).findings()

    assert (line, found.severity) == (1, "warning")
    assert "did you mean `set`?" in found.message
    assert "@step" in found.message


def test_an_edge_to_nowhere_is_a_finding(read):
    """A file that `session.define` refuses has an error."""
    text = json.dumps({"steps": [STEP], "next": [{"from": "root", "to": "none"}]})
    [(_, found)] = read(text).findings()

    assert (found.severity, "`none`" in found.message) == ("error", True)


NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def places(value, above=()):
    """Every path in a value."""
    items = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, each in items:
        yield (*above, key)
        yield from places(each, (*above, key))


@given(JSON, st.sampled_from([None, 1]))
def test_every_key_and_element_has_its_place(value, indent):
    """Whatever is in a document, its places are found, each where its text begins."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    found = _Text("x.json", text)

    assert list(found._offsets) == list(places(value))
    for place, offset in found._offsets.items():
        if isinstance(place[-1], str):
            assert text[offset:].startswith(json.dumps(place[-1], ensure_ascii=False))
