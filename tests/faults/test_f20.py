"""F20: a body returns what has no Cypher type."""

import pytest


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("object", "_Thing"),
        ("class", "type"),
        ("function", "function"),
        ("set", "set"),
        ("complex", "complex"),
        ("huge integer", "64 bits"),
        ("deep inside", "set"),
        ("lone surrogate", "surrogate"),
        ("surrogate key", "surrogate"),
        ("number as key", "int"),
        ("cyclic list", "or holds itself"),
        ("cyclic map", "or holds itself"),
        ("too deep", "or holds itself"),
    ],
)
def test_what_has_no_cypher_type_is_named(evidence, kind, told):
    """The error names procedure, column and Python type, and holds nothing of the value."""
    error = evidence.error("CALL trouble.give($kind, $text)", kind=kind, text=evidence.payload)

    assert error.code == "Neo.ClientError.Procedure.ProcedureCallFailed"
    assert "column `value` of `trouble.give`" in error.message
    assert told in error.message
    code = error.message.partition("[")[2].partition("]")[0]
    assert code in {"SC-205", "SC-215"}
    evidence.logged("call failed", procedure="trouble.give", code=code)
    evidence.counted("sidecypher_calls_total", procedure="trouble.give", outcome=code)
