"""The last look at a catalogue before it becomes Java: what passes here compiles and loads.

`sidecypher.signature` refuses the same things with a better message, at import; but a jar that
Neo4j cannot load stops the whole DBMS, so nothing here relies on where the catalogue came from.
"""

import re
from collections.abc import Iterable
from itertools import chain
from typing import Final, get_args

from sidecypher.catalogue import (
    Availability,
    Catalogue,
    DefaultEntry,
    FunctionEntry,
    Mode,
    ParameterEntry,
    ProcedureEntry,
)
from sidecypher_plugin.defaults import is_default
from sidecypher_plugin.errors import UnfitProcedure
from sidecypher_plugin.java import MAX_TEXT_BYTES, RESERVED_COMPONENTS, cut, java_type

__all__ = ["check_catalogue"]

MAX_NAME: Final = 200
"""Longest name, in characters: it becomes the name of a file."""

MAX_WIDTH: Final = 254
"""Most parameters and most columns: Java has 255 slots for arguments, and one is `this`."""

_IDENTIFIER: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_Entry = ProcedureEntry | FunctionEntry
_SIGNATURE: Final = re.compile(r"[0-9a-f]{16}")
_LONGEST_TIMEOUT: Final = 2**63 - 1

_RESERVED_NAMESPACES: Final = frozenset(
    """
    abac builtin cdc coll date datetime db dbms duration graph internal localdatetime localtime math
    plugin point stored string time tx unsupported vector
    """.split()
)


def check_catalogue(catalogue: Catalogue) -> None:
    """Check that every entry of a catalogue can become a procedure or function that Neo4j loads.

    Raises:
        UnfitProcedure: One entry cannot, with its name and the reason; or several, with all that is
            wrong in `details["unfit"]`.
        CatalogueError: A text cannot be written as UTF-8.
        DuplicateProcedure: Two procedures, or two functions, have one name.
    """
    entries = chain[_Entry](catalogue.procedures, catalogue.functions)
    unfit = [problem for entry in entries if (problem := _problem(entry)) is not None]
    if len(unfit) == 1:
        raise unfit[0]
    if unfit:
        raise UnfitProcedure(
            f"{len(unfit)} procedures and functions cannot be offered to Cypher",
            hint="Change their Python functions' signatures, then build the plugin again.",
            details={"unfit": [problem.message for problem in unfit]},
        )
    if catalogue != Catalogue.build(catalogue.procedures, catalogue.functions):
        raise UnfitProcedure(
            "The catalogue's hash or order does not fit its entries",
            hint="Make catalogues with `Catalogue.build`.",
        )


def _problem(entry: _Entry) -> UnfitProcedure | None:
    try:
        _check_name(entry)
        _check_facts(entry)
        _check_parameters(entry)
        if isinstance(entry, ProcedureEntry):
            _check_mode(entry)
            _check_columns(entry)
        else:
            _check_type(entry, "result", entry.result)
    except UnfitProcedure as problem:
        return problem
    return None


def _check_name(entry: _Entry) -> None:
    name, kind = entry.name, _kind(entry)
    parts = name.split(".")
    if not all(_IDENTIFIER.fullmatch(part) for part in parts) or len(name) > MAX_NAME:
        raise UnfitProcedure(
            f"A {kind} cannot be called {_shown(name)}",
            hint=f"Use ASCII letters, digits and `_`, in parts that start with a letter and are "
            f"joined by dots; {MAX_NAME} characters at most.",
        )
    if len(parts) == 1:
        raise UnfitProcedure(
            f"The {kind} `{name}` has no namespace", hint=f"Call it `my.{name}`, for example."
        )
    if parts[0] in _RESERVED_NAMESPACES:
        raise UnfitProcedure(
            f"The {kind} `{name}` is in the namespace `{parts[0]}`, which Neo4j reserves",
            hint="Choose another first part of the name.",
        )


def _check_facts(entry: _Entry) -> None:
    if entry.availability not in get_args(Availability):
        raise _unfit(entry, f"has the availability {_shown(entry.availability)}")
    if not 0 < entry.timeout_ms <= _LONGEST_TIMEOUT:
        raise _unfit(entry, f"has a timeout of {entry.timeout_ms} ms")
    if not _SIGNATURE.fullmatch(entry.signature):
        raise _unfit(entry, f"has the signature {_shown(entry.signature)}")


def _check_mode(procedure: ProcedureEntry) -> None:
    if procedure.mode not in get_args(Mode):
        raise _unfit(procedure, f"has the mode {_shown(procedure.mode)}")


def _check_parameters(entry: _Entry) -> None:
    _check_names(entry, "parameter", [parameter.name for parameter in entry.parameters])
    with_default = ""
    for parameter in entry.parameters:
        _check_type(entry, f"parameter `{parameter.name}`", parameter.type)
        if parameter.default is not None:
            with_default = parameter.name
            _check_default(entry, parameter, parameter.default)
        elif with_default:
            raise _unfit(
                entry,
                f"requires `{parameter.name}` after `{with_default}`, which has a default",
            )


def _check_default(entry: _Entry, parameter: ParameterEntry, default: DefaultEntry) -> None:
    fits = default.text == "null" if default.any else is_default(default.text, parameter.type)
    if not fits:
        raise _unfit(
            entry,
            f"has a default for `{parameter.name}` that Neo4j cannot read as {parameter.type}",
        )
    if cut(default.text) != default.text:
        raise _unfit(
            entry, f"has a default for `{parameter.name}` of more than {MAX_TEXT_BYTES} bytes"
        )


def _check_columns(procedure: ProcedureEntry) -> None:
    _check_names(procedure, "column", [column.name for column in procedure.columns])
    for column in procedure.columns:
        _check_type(procedure, f"column `{column.name}`", column.type)
        if column.name in RESERVED_COMPONENTS:
            raise _unfit(procedure, f"has a column `{column.name}`, a name that Java keeps")


def _check_names(entry: _Entry, kind: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if not _IDENTIFIER.fullmatch(name) or len(name) > MAX_NAME:
            raise _unfit(entry, f"has a {kind} called {_shown(name)}")
        if name in seen:
            raise _unfit(entry, f"has two {kind}s called `{name}`")
        seen.add(name)
    if len(seen) > MAX_WIDTH:
        raise _unfit(entry, f"has {len(seen)} {kind}s; Java allows {MAX_WIDTH}")


def _check_type(entry: _Entry, owner: str, cypher_type: str) -> None:
    try:
        java_type(cypher_type)
    except ValueError as error:
        raise _unfit(entry, f"has a {owner} of the unknown type {_shown(cypher_type)}") from error


def _unfit(entry: _Entry, reason: str) -> UnfitProcedure:
    return UnfitProcedure(
        f"The {_kind(entry)} `{entry.name}` {reason}",
        hint="Change the Python function's signature, then build the plugin again.",
    )


def _kind(entry: _Entry) -> str:
    return "procedure" if isinstance(entry, ProcedureEntry) else "function"


def _shown(text: str) -> str:
    return f"`{ascii(text[:MAX_NAME])[1:-1]}`"
