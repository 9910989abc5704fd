"""From entries of a catalogue to the pieces of Java that the template puts together."""

from collections.abc import Iterable
from dataclasses import dataclass

from sidecypher.protocol.catalogue import ColumnEntry, FunctionEntry, ParameterEntry, ProcedureEntry
from sidecypher_plugin.java import annotation, expression, java_type


@dataclass(frozen=True, slots=True)
class Row:
    """The record that carries one row of a procedure.

    Attributes:
        components: What the record is declared with.
        types: Their types, in the same order.
    """

    name: str
    components: tuple[str, ...]
    types: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stub:
    """The method that stands for one Python procedure or function.

    Attributes:
        name: Full Cypher name.
        constant: Field that holds what the stub knows about the Python side.
        facts: Calls of the builder that makes the constant.
        annotations: What Neo4j reads about the method.
        result: Type of what the method returns, or ``void``.
        parameters: Declarations of the method's parameters.
        body: Its only statement.
        rows: The record of its rows, if it yields any.
    """

    name: str
    constant: str
    facts: tuple[str, ...]
    annotations: tuple[str, ...]
    result: str
    parameters: tuple[str, ...]
    body: str
    rows: tuple[Row, ...]


def procedure_stub(entry: ProcedureEntry, number: int) -> Stub:
    """Write the pieces of a procedure, the `number`-th of its class."""
    constant, row = f"P{number}", f"Row{number}"
    arguments = [f"a{index}" for index in range(len(entry.parameters))]
    void = not entry.columns
    call = ["run", constant] if void else ["call", constant, f"{row}::new"]
    return Stub(
        name=entry.name,
        constant=constant,
        facts=(
            *_facts(entry, entry.mode, entry.columns),
            *([_fact("singleRow")] if entry.single else []),
        ),
        annotations=(
            annotation("Procedure", **_procedure_elements(entry)),
            *_remarks(entry),
            *(["@Admin"] if entry.admin else []),
        ),
        result="void" if void else f"Stream<{row}>",
        parameters=_parameters(entry.parameters),
        body=f"{'' if void else 'return '}{_call(*call, *arguments)};",
        rows=() if void else (_row(row, entry.columns),),
    )


def function_stub(entry: FunctionEntry, number: int) -> Stub:
    """Write the pieces of a function, the `number`-th of its class."""
    constant, result = f"F{number}", java_type(entry.result)
    arguments = [f"a{index}" for index in range(len(entry.parameters))]
    return Stub(
        name=entry.name,
        constant=constant,
        facts=(
            *_facts(entry, "READ", [ColumnEntry("value", entry.result)]),
            _fact("function"),
        ),
        annotations=(
            annotation("UserFunction", name=expression(entry.name), **_successor(entry)),
            *_remarks(entry),
            '@SuppressWarnings({"cast", "unchecked"})',
        ),
        result=result,
        parameters=_parameters(entry.parameters),
        body=f"return ({result}) {_call('evaluate', constant, *arguments)};",
        rows=(),
    )


def _facts(
    entry: ProcedureEntry | FunctionEntry, mode: str, columns: Iterable[ColumnEntry]
) -> list[str]:
    facts = [
        _fact("signature", entry.signature),
        _fact("mode", mode),
        _fact("timeoutMillis", entry.timeout_ms),
    ]
    for parameter in entry.parameters:
        nullable = parameter.nullable or _by_null(parameter)
        facts.append(_fact("parameter", parameter.name, parameter.type, nullable))
    facts += [_fact("column", column.name, column.type) for column in columns]
    if entry.availability != "REQUIRED":
        facts.append(_fact("availability", entry.availability))
    return facts


def _fact(name: str, *values: str | int) -> str:
    return _call(name, *(expression(value) for value in values))


def _call(name: str, *arguments: str) -> str:
    return f"{name}({', '.join(arguments)})"


def _procedure_elements(entry: ProcedureEntry) -> dict[str, str]:
    elements = {"name": expression(entry.name), "mode": f"Mode.{entry.mode}"}
    if entry.eager:
        elements["eager"] = expression(entry.eager)
    return elements | _successor(entry)


def _successor(entry: ProcedureEntry | FunctionEntry) -> dict[str, str]:
    return {"deprecatedBy": expression(entry.deprecated_by)} if entry.deprecated_by else {}


def _remarks(entry: ProcedureEntry | FunctionEntry) -> list[str]:
    described = annotation("Description", value=expression(entry.description))
    return [described] if entry.deprecated_by is None else [described, "@Deprecated"]


def _by_null(parameter: ParameterEntry) -> bool:
    return parameter.default is not None and parameter.default.any


def _parameters(parameters: Iterable[ParameterEntry]) -> tuple[str, ...]:
    return tuple(
        f"{_name(parameter)} {'Object' if _by_null(parameter) else java_type(parameter.type)} "
        f"a{index}"
        for index, parameter in enumerate(parameters)
    )


def _name(parameter: ParameterEntry) -> str:
    elements = {"value": expression(parameter.name)}
    if parameter.default is not None:
        elements["defaultValue"] = expression(parameter.default.text)
    return annotation("Name", **elements)


def _row(name: str, columns: Iterable[ColumnEntry]) -> Row:
    return Row(
        name,
        components=tuple(map(_component, columns)),
        types=tuple(java_type(column.type) for column in columns),
    )


def _component(column: ColumnEntry) -> str:
    declared = f"{java_type(column.type)} {column.name}"
    if not column.description:
        return declared
    return f"{annotation('Description', value=expression(column.description))} {declared}"
