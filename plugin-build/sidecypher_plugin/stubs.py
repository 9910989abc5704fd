"""Pieces of Java for the template, made from the entries of a catalogue."""

from collections.abc import Iterable
from dataclasses import dataclass

from sidecypher.protocol.catalogue import ColumnEntry, FunctionEntry, ParameterEntry, ProcedureEntry
from sidecypher_plugin.java import annotation, expression, java_type


@dataclass(frozen=True, slots=True)
class Row:
    """The Java record of a procedure's row.

    Attributes:
        components: Declarations of its components.
        types: Types of its components, in the same order.
    """

    name: str
    components: tuple[str, ...]
    types: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stub:
    """The Java method of one Python procedure or function.

    Attributes:
        name: Full Cypher name.
        constant: Name of the field with the description of the procedure.
        builder_calls: Calls of the builder of that description.
        annotations: Neo4j's annotations of the method.
        result: Return type of the method, or ``void``.
        parameters: Declarations of the method's parameters.
        body: Its only statement.
        rows: The record of its rows, if it yields any.
    """

    name: str
    constant: str
    builder_calls: tuple[str, ...]
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
        builder_calls=(
            *_builder_calls(entry, entry.mode, entry.columns),
            *([_builder_call("singleRow")] if entry.single else []),
            *([_builder_call("cache", entry.cache)] if entry.cache else []),
        ),
        annotations=(
            annotation("Procedure", **_procedure_elements(entry)),
            *_documentation(entry),
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
        builder_calls=(
            *_builder_calls(entry, "READ", [ColumnEntry("value", entry.result)]),
            _builder_call("function"),
        ),
        annotations=(
            annotation("UserFunction", name=expression(entry.name), **_deprecated_by(entry)),
            *_documentation(entry),
            '@SuppressWarnings({"cast", "unchecked"})',
        ),
        result=result,
        parameters=_parameters(entry.parameters),
        body=f"return ({result}) {_call('evaluate', constant, *arguments)};",
        rows=(),
    )


def _builder_calls(
    entry: ProcedureEntry | FunctionEntry, mode: str, columns: Iterable[ColumnEntry]
) -> list[str]:
    builder_calls = [
        _builder_call("signature", entry.signature),
        _builder_call("mode", mode),
        _builder_call("timeoutMillis", entry.timeout_ms),
    ]
    for parameter in entry.parameters:
        nullable = parameter.nullable or _default_is_null(parameter)
        builder_calls.append(_builder_call("parameter", parameter.name, parameter.type, nullable))
    builder_calls += [_builder_call("column", column.name, column.type) for column in columns]
    if entry.availability != "REQUIRED":
        builder_calls.append(_builder_call("availability", entry.availability))
    return builder_calls


def _builder_call(name: str, *values: str | int) -> str:
    return _call(name, *(expression(value) for value in values))


def _call(name: str, *arguments: str) -> str:
    return f"{name}({', '.join(arguments)})"


def _procedure_elements(entry: ProcedureEntry) -> dict[str, str]:
    elements = {"name": expression(entry.name), "mode": f"Mode.{entry.mode}"}
    if entry.eager:
        elements["eager"] = expression(entry.eager)
    return elements | _deprecated_by(entry)


def _deprecated_by(entry: ProcedureEntry | FunctionEntry) -> dict[str, str]:
    return {"deprecatedBy": expression(entry.deprecated_by)} if entry.deprecated_by else {}


def _documentation(entry: ProcedureEntry | FunctionEntry) -> list[str]:
    described = annotation("Description", value=expression(entry.description))
    return [described] if entry.deprecated_by is None else [described, "@Deprecated"]


def _default_is_null(parameter: ParameterEntry) -> bool:
    return parameter.default is not None and parameter.default.any


def _parameters(parameters: Iterable[ParameterEntry]) -> tuple[str, ...]:
    return tuple(
        f"{_name(each)} {'Object' if _default_is_null(each) else java_type(each.type)} a{index}"
        for index, each in enumerate(parameters)
    )


def _name(parameter: ParameterEntry) -> str:
    elements = {"value": expression(parameter.name)}
    if parameter.default is not None:
        elements["defaultValue"] = expression(parameter.default.text)
    if parameter.description:
        elements["description"] = expression(parameter.description)
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
