"""Names and defaults, whatever an author writes."""

import ast
import keyword
import math
import re
import string
from datetime import date, datetime, time
from typing import Annotated, Any, Literal

from hypothesis import given
from hypothesis import strategies as st

from sidecypher import (
    Duration,
    LocalDateTime,
    LocalTime,
    Node,
    Path,
    Point,
    Relationship,
    Row,
)
from sidecypher.errors import SignatureError
from sidecypher.sdk.signature.names import camel_case, check_procedure_name
from sidecypher.sdk.signature.reader import read_function_signature, read_signature
from sidecypher.values.coders import decoder, encoder

words = st.text(string.ascii_lowercase + string.digits, min_size=1)
snake = st.lists(words, min_size=1, max_size=5).filter(lambda parts: parts[0][0].isalpha())


class Found(Row):
    value: int


def default_of(annotation, value):
    """Return the default that a parameter of this type gets, or None if it is refused."""

    def body(value):
        raise NotImplementedError

    body.__annotations__ = {"value": annotation, "return": Found}
    body.__defaults__ = (value,)
    try:
        return read_signature(body).parameters[0].default
    except SignatureError:
        return None


@given(parts=snake)
def test_camel_case_joins_words(parts):
    """Words joined by underscores become one word; each but the first begins in upper case."""
    name = camel_case("_".join(parts))

    assert name == parts[0] + "".join(part[0].upper() + part[1:] for part in parts[1:])
    assert "_" not in name


@given(name=st.text(string.ascii_letters + string.digits))
def test_camel_case_leaves_a_plain_name(name):
    """A name without underscores stays as it is, also when it is done twice."""
    assert camel_case(name) == name


@given(name=st.text() | st.from_regex(r"[a-z]+(\.[a-zA-Z0-9]+){0,3}\n?", fullmatch=True))
def test_an_accepted_name_holds_only_letters_digits_and_dots(name):
    """Whatever is accepted as a procedure's name could stand in Java and Cypher as it is."""
    try:
        accepted = check_procedure_name(name)
    except SignatureError:
        return
    assert accepted == name
    assert re.fullmatch(r"[A-Za-z0-9]+(\.[A-Za-z0-9]+)+", name)
    assert not name[0].isdigit()


@given(name=st.text(max_size=8).filter(str.isidentifier).filter(lambda x: not keyword.iskeyword(x)))
def test_an_accepted_parameter_is_a_plain_identifier(name):
    """Whatever Python takes as a name, Cypher gets a plain camelCase one or the import fails."""

    def body(value):
        raise NotImplementedError

    body.__code__ = body.__code__.replace(co_varnames=(name,))
    body.__annotations__ = {name: int, "return": Found}
    try:
        signature = read_signature(body)
    except SignatureError:
        return
    for parameter in signature.parameters:
        assert re.fullmatch(r"[a-z][A-Za-z0-9]*", parameter.name)


texts = st.text(st.characters(exclude_categories=["Cs"]))
plain = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | texts
literals = st.recursive(
    plain | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=10,
)


def read_literal(text):
    """Read a literal of Cypher as Neo4j's parser of defaults does: by its grammar."""
    return _Literal(text).whole()


class _Literal:
    """A reader of Cypher's literals, written from the grammar and not from the writer."""

    words = {"null": None, "true": True, "false": False}
    escapes = {"\\": "\\", "'": "'"}

    def __init__(self, text):
        self.text = text
        self.at = 0

    def whole(self):
        value = self.value()
        assert self.at == len(self.text)
        return value

    def take(self, token):
        if self.text.startswith(token, self.at):
            self.at += len(token)
            return True
        return False

    def value(self):
        if self.take("'"):
            return self.quoted()
        if self.take("["):
            return self.items(self.value, "]", list)
        if self.take("{"):
            return self.items(lambda: (self.key(), self.value()), "}", dict)
        word = re.compile(r"[^,\]}]+").match(self.text, self.at)[0]
        self.at += len(word)
        return self.words[word] if word in self.words else ast.literal_eval(word)

    def items(self, read, end, make):
        found = []
        while not self.take(end):
            if found:
                assert self.take(", ")
            found.append(read())
        return make(found)

    def quoted(self):
        found = []
        while not self.take("'"):
            if self.take("\\"):
                found.append(self.escapes[self.text[self.at]])
            else:
                found.append(self.text[self.at])
            self.at += 1
        return "".join(found)

    def key(self):
        if self.take("`"):
            found = []
            while not self.take("`") or self.text.startswith("`", self.at):
                found.append(self.text[self.at])
                self.at += 1
            key = "".join(found)
        else:
            key = re.compile(r"[A-Za-z_][A-Za-z0-9_]*").match(self.text, self.at)[0]
            self.at += len(key)
        assert self.take(": ")
        return key


@given(value=st.lists(literals, max_size=3) | st.dictionaries(texts, literals, max_size=3))
def test_a_default_says_in_cypher_what_it_is_in_python(value):
    """The literal of a LIST or MAP default reads back as the Python value."""
    default = default_of(list if isinstance(value, list) else dict[str, Any], value)

    if default.by_null:
        assert "\\u" in repr(value)
        return
    assert repr(read_literal(default.text)) == repr(value)


@given(value=texts)
def test_a_text_default_stands_as_it_is(value):
    """Neo4j takes the default of a STRING raw, so nothing is quoted."""
    assert default_of(str, value).text == value


@given(value=st.integers() | st.floats() | st.booleans() | st.text() | st.none())
def test_a_number_default_is_that_number_or_refused(value):
    """An INTEGER or FLOAT default reads back as the number it is."""
    for annotation in (int, float):
        default = default_of(annotation, value)

        if default is not None and default.by_null:
            assert value in {math.inf, -math.inf} or value != value  # noqa: PLR0124 - NaN
        elif default is not None:
            assert annotation(default.text) == annotation(value)
            assert annotation is float or isinstance(value, int)


SCALARS = {
    bool: "BOOLEAN", int: "INTEGER", float: "FLOAT", str: "STRING", bytes: "BYTES", date: "DATE",
    time: "ZONED TIME", LocalTime: "LOCAL TIME", datetime: "ZONED DATETIME",
    LocalDateTime: "LOCAL DATETIME", Duration: "DURATION", Point: "POINT", Node: "NODE",
    Relationship: "RELATIONSHIP", Path: "PATH", Literal["a", "b"]: "STRING", Literal[1]: "INTEGER",
}  # fmt: skip
annotations = st.recursive(
    st.sampled_from(list(SCALARS.items())) | st.just((Any, "ANY")),
    lambda inner: st.one_of(
        inner.map(lambda pair: (list[pair[0]], f"LIST<{pair[1]}>")),
        inner.map(lambda pair: (dict[str, pair[0]], "MAP")),
        inner.map(lambda pair: (pair[0] | None, pair[1])),
        inner.map(lambda pair: (Annotated[pair[0], "a note"], pair[1])),
    ),
    max_leaves=4,
)


@given(pair=annotations)
def test_types_within_types_have_their_cypher_type(pair):
    """However types are nested, a parameter and a function's result have the same Cypher type."""
    annotation, text = pair

    def body(value):
        raise NotImplementedError

    body.__annotations__ = {"value": annotation, "return": annotation}
    signature = read_function_signature(body)

    assert str(signature.parameters[0].type) == text
    assert signature.parameters[0].type == signature.columns[0].type
    assert encoder(signature.columns[0].type)
    assert decoder(signature.columns[0].type)
