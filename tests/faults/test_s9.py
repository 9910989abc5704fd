"""S9: no name can be made to say more to Cypher than a name."""

import pytest
from fix_catalogues import hostile_texts, letters
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from neo4j.exceptions import ClientError

from sidecypher.cli import call
from sidecypher.errors import SidecypherError, SignatureError
from sidecypher.protocol.catalogue import (
    Catalogue,
    ColumnEntry,
    FunctionEntry,
    ParameterEntry,
    ProcedureEntry,
)
from sidecypher_plugin.generator import render


@example("kg.score\n")
@example("kg.\u0130")
@given(st.text(st.characters(codec=None)) | st.lists(hostile_texts | letters).map(".".join))
def test_hostile_names_are_refused(name):
    """A name is plain ASCII or gives a named error, wherever it stands."""
    plain = name.isascii() and name.isidentifier()
    dotted = all(part.isascii() and part.isidentifier() for part in name.split("."))
    for harmless, entry_name, parameter, column in (
        (dotted, name, "a", "a"),
        (plain, "kg.score", name, "a"),
        (plain, "kg.score", "a", name),
    ):
        parameters = (ParameterEntry(parameter, "STRING"),)
        columns = (ColumnEntry(column, "STRING"),)
        procedure = ProcedureEntry(entry_name, "READ", "", 1, "0" * 16, parameters, columns)
        function = FunctionEntry(entry_name, "", 1, "0" * 16, parameters, "STRING")
        for made in (([procedure], []), ([], [function])):
            try:
                render(Catalogue.build(*made))
            except SidecypherError:
                continue
            assert harmless or (made[1] and column == name)


cypher_words = st.sampled_from(
    "match return with call yield where union all distinct null true false nan infinity in is "
    "not and or xor starts ends contains case when then else end as on optional order by skip "
    "limit foreach load csv set remove delete detach merge create drop index constraint node "
    "relationship exists count collect typed any none single reduce shortestPath explain profile "
    "cypher use unwind finish insert offset show terminate transactions "
    "procedures MATCH RETURN Null".split()
)
attacks = st.sampled_from(
    ("kg.a() YIELD x", "kg.a() //", "kg.a;", "kg.`a`", "`kg.a`", "kg.a /* */", "kg.a\n",
     "kg.a\u2028", "kg.a\\u0028", "kg..a", "kg.a{b:1}", "kg.a($a0) DETACH DELETE n //",
     "kg\u2024a")
)  # fmt: skip
parts = cypher_words | letters
called = (
    attacks | hostile_texts | st.lists(parts | hostile_texts, min_size=2, max_size=4).map(".".join)
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=called | st.lists(parts, min_size=2, max_size=4).map(".".join))
def test_neo4js_parser_reads_one_call_of_that_very_name(session, name):
    """A statement that is made with a name is a call of it, or is not made at all."""
    try:
        statement = call.statement(name, 1)
    except SignatureError:
        return

    with pytest.raises(ClientError) as caught:
        session.run(f"EXPLAIN {statement}", a0=1).consume()

    assert caught.value.code == "Neo.ClientError.Procedure.ProcedureNotFound"
    assert f"`{name}`" in caught.value.message
