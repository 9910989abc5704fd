"""Procedures as tools that a language model can call: schemas, and the statement of a call."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from sidecypher.cli.prepare import load_procedures
from sidecypher.errors import ValueTypeError
from sidecypher.host.settings import load_settings
from sidecypher.protocol.catalogue import Mode, ProcedureEntry
from sidecypher.sdk.batch.variants import BatchVariant
from sidecypher.sdk.registry import Procedure
from sidecypher.sdk.signature.model import Parameter
from sidecypher.transport.http.openapi import TYPES, arguments_schema, row_schema
from sidecypher.values.coders import decoder, encode_any
from sidecypher.values.kinds import Schema

_COMPONENTS: Final = "#/components/schemas/"
_DEFINITIONS: Final = "#/$defs/"


class Tool:
    """A procedure as a tool.

    Attributes:
        name: Its name in Cypher.
        mode: What it may do in the graph.
        description: The first line of its docstring.
        seconds: The longest time of a call.
    """

    def __init__(self, procedure: Procedure, entry: ProcedureEntry) -> None:
        self.name: Final = entry.name
        self.mode: Final[Mode] = entry.mode
        self.description: Final = entry.description
        self.seconds: Final = entry.timeout_ms / 1000
        self._procedure = procedure
        self._entry = entry

    @property
    def input_schema(self) -> Schema:
        """The JSON schema of its arguments by name."""
        return _alone(arguments_schema(self._procedure.signature.parameters))

    @property
    def output_schema(self) -> Schema:
        """The JSON schema of `rows`, and of `more`: whether there were more of them."""
        return _alone(
            {
                "type": "object",
                "properties": {
                    "rows": {"type": "array", "items": row_schema(self._entry)},
                    "more": {"type": "boolean"},
                },
                "required": ["rows", "more"],
            }
        )

    def statement(self, arguments: Mapping[str, Any], most_rows: int) -> tuple[str, dict[str, Any]]:
        """Return the statement of a call, and its parameters.

        Args:
            arguments: JSON values by name.
            most_rows: The most rows that it returns.

        Raises:
            ArgumentError: A name is not one of the parameters, or an argument is missing.
            ValueTypeError: An argument has another type.
        """
        parameters = self._procedure.signature.parameters
        sent = self._procedure.by_position(arguments)
        values = [_decoded(each, value) for each, value in zip(parameters, sent, strict=True)]
        named = {f"a{number}": value for number, value in enumerate(values)}
        call = f"CALL {self.name}({', '.join(f'${name}' for name in named)})"
        if not self._entry.columns:
            return call, named
        columns = ", ".join(f"`{column.name}`" for column in self._entry.columns)
        return f"{call} YIELD {columns} RETURN {columns} LIMIT {int(most_rows)}", named

    def encoded(self, rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return rows as JSON values.

        Raises:
            ValueTypeError: A value of a row has no JSON form.
        """
        return [{name: _encoded(name, value) for name, value in row.items()} for row in rows]


def list_tools(*, home: Path | None = None, config: Path | None = None) -> Iterator[Tool]:
    """Yield the procedures that are found, without batches and those for administrators."""
    loaded = load_procedures(load_settings({"home": home}, config=config))
    for each in sorted(loaded.registry, key=lambda found: found.name):
        entry = each.entry
        if (
            isinstance(entry, ProcedureEntry)
            and not entry.admin
            and not isinstance(each, BatchVariant)
        ):
            yield Tool(each, entry)


def _encoded(column: str, value: Any) -> Any:
    try:
        return encode_any(value)
    except ValueTypeError as error:
        raise ValueTypeError(f"The column `{column}` {error.message}") from None


def _decoded(parameter: Parameter, value: Any) -> Any:
    # Typed MAPs and null, which means a default, are read by the procedure itself.
    if value is None or parameter.shape is not None:
        return value
    try:
        return decoder(parameter.type)(value)
    except ValueTypeError as error:
        raise ValueTypeError(f"The argument `{parameter.name}` {error.message}") from None


def _alone(schema: Schema) -> Schema:
    """Return a schema with the types that it refers to, and those that they refer to.

    Agents read all schemas, so these have no further types.
    """
    alone: Schema = _referring(schema)
    definitions: dict[str, Schema] = {}
    names = set(_names_in(alone))
    while new := names - definitions.keys():
        for name in new:
            definitions[name] = _referring(TYPES[name])
            names.update(_names_in(definitions[name]))
    if definitions:
        alone["$defs"] = dict(sorted(definitions.items()))
    return alone


def _referring(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: item.replace(_COMPONENTS, _DEFINITIONS) if key == "$ref" else _referring(item)
            for key, item in value.items()
        }
    return [_referring(item) for item in value] if isinstance(value, list) else value


def _names_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key == "$ref":
                yield item.removeprefix(_DEFINITIONS)
            else:
                yield from _names_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from _names_in(item)
