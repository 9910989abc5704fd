"""The catalogue: the signature of every procedure and function as data, with one hash over all.

Plugin and sidecar each have a catalogue. Equal hashes mean that both are the same. If the hashes
differ, the signature of the called procedure or function decides.
"""

import hashlib
from collections.abc import Iterable
from itertools import chain, pairwise
from typing import Final, Literal, Self, TypeVar

import msgspec

from sidecypher.errors import DuplicateProcedure, SidecypherError

Mode = Literal["READ", "WRITE", "SCHEMA"]
Availability = Literal["OFF", "OPTIONAL", "REQUIRED"]
CacheScope = Literal["user", "all"]

_SIGNATURE_DIGITS = 16


class CatalogueError(SidecypherError):
    """A catalogue cannot be read, or does not fit its hash."""

    code = "SC-104"
    default_hint = "Write the catalogue again with `sidecypher plugin build`."


class DefaultEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Value that Neo4j passes if the caller omits a parameter.

    Attributes:
        text: The text for ``@Name(defaultValue = ...)``.
        any: Whether Neo4j sees the type ``ANY``, so that null can mean the Python default; the
            Java core then checks the declared type.
    """

    text: str
    any: bool = False


class ParameterEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One parameter, as Cypher sees it."""

    name: str
    type: str
    nullable: bool = False
    default: DefaultEntry | None = None
    description: str = ""


class ColumnEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One column of the rows of a procedure."""

    name: str
    type: str
    description: str = ""


class ProcedureEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One procedure: all data that the plugin needs to offer it to Cypher.

    Attributes:
        name: Full Cypher name, such as ``github.getIssue``.
        timeout_ms: The longest a call may take, in milliseconds.
        signature: Result of `signature_of` for name, mode, parameters and columns.
        columns: A procedure without columns is void.
        single: Whether a call always returns exactly one row; without a sidecar that is one row of
            nulls if ``availability`` is OPTIONAL.
        availability: Result of a call without a sidecar: an error if REQUIRED, else nulls.
        eager: Whether Neo4j executes the preceding clauses first, and reads all rows of the call
            before it continues.
        admin: Whether only administrators may call it.
        cache: Who gets rows that the plugin keeps: the user whose call they are from, or all users;
            empty if it keeps none.
        deprecated_by: Replacement, ``""`` if there is none; None if it is not deprecated.
    """

    name: str
    mode: Mode
    description: str
    timeout_ms: int
    signature: str
    parameters: tuple[ParameterEntry, ...]
    columns: tuple[ColumnEntry, ...]
    single: bool = False
    availability: Availability = "REQUIRED"
    eager: bool = False
    admin: bool = False
    cache: CacheScope | Literal[""] = ""
    deprecated_by: str | None = None

    def true_signature(self) -> str:
        """Return the signature of the other fields, which `signature` must equal."""
        return signature_of(self.name, self.mode, self.parameters, self.columns)


class FunctionEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One function that Cypher expressions can use; its fields are like those of a procedure.

    Attributes:
        signature: Result of `signature_of` for the mode FUNCTION and one column ``value``.
        result: Type of the value.
    """

    name: str
    description: str
    timeout_ms: int
    signature: str
    parameters: tuple[ParameterEntry, ...]
    result: str
    availability: Availability = "REQUIRED"
    deprecated_by: str | None = None

    def true_signature(self) -> str:
        """Return the signature of the other fields, which `signature` must equal."""
        return signature_of(
            self.name, "FUNCTION", self.parameters, [ColumnEntry("value", self.result)]
        )


_Entry = TypeVar("_Entry", ProcedureEntry, FunctionEntry)


class Catalogue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All procedures and all functions, each sorted by name, and the hash of them.

    A procedure and a function may have the same name.

    Attributes:
        version: Version of this format.
        hash: SHA-256, in hex, of the canonical JSON of procedures and functions.

    Example:
        >>> Catalogue.build([]).procedures
        ()
    """

    version: Literal[3]
    hash: str
    procedures: tuple[ProcedureEntry, ...]
    functions: tuple[FunctionEntry, ...]

    @classmethod
    def build(
        cls, procedures: Iterable[ProcedureEntry], functions: Iterable[FunctionEntry] = ()
    ) -> Self:
        """Sort the entries by name and hash them.

        Raises:
            DuplicateProcedure: Two procedures, or two functions, have the same name.
            CatalogueError: A text cannot be written as UTF-8.
        """
        content = (_sorted(procedures, "procedures"), _sorted(functions, "functions"))
        return cls(3, _sha256(content), *content)

    def to_json(self) -> bytes:
        """Return the catalogue as JSON; equal catalogues have equal bytes."""
        return msgspec.json.encode(self)

    @classmethod
    def from_json(cls, text: bytes | str) -> Self:
        """Parse the output of `to_json`, and check it against its hash and signatures.

        Raises:
            CatalogueError: The text is not a catalogue of this version, or was changed by hand.
        """
        try:
            read = _decode(text)
        except (msgspec.DecodeError, UnicodeError) as error:
            raise CatalogueError(f"This is not a catalogue: {error}") from error
        for entry in chain[ProcedureEntry | FunctionEntry](read.procedures, read.functions):
            if entry.signature != entry.true_signature():
                raise CatalogueError(f"The signature of `{entry.name}` is not the one it states")
        if read != cls.build(read.procedures, read.functions):
            raise CatalogueError("The catalogue's hash or order does not fit its entries")
        return read


_decode: Final = msgspec.json.Decoder(Catalogue).decode


def signature_of(
    name: str,
    mode: Mode | Literal["FUNCTION"],
    parameters: Iterable[ParameterEntry],
    columns: Iterable[ColumnEntry],
) -> str:
    """Hash the name, mode, parameters and columns of one procedure or function.

    Everything else, such as descriptions and the timeout, is left out: a plugin with an older one
    can still call.

    Returns:
        The first 16 hex digits of a SHA-256.

    Raises:
        CatalogueError: A text cannot be written as UTF-8.

    Example:
        >>> signature_of("kg.ping", "READ", [], [ColumnEntry("pong", "BOOLEAN")])
        '053725ae06756dcf'
    """
    typed = [
        {"name": each.name, "type": each.type, "nullable": each.nullable, "default": each.default}
        for each in parameters
    ]
    shape = (name, mode, typed, [(column.name, column.type) for column in columns])
    return _sha256(shape)[:_SIGNATURE_DIGITS]


def _sorted(entries: Iterable[_Entry], kind: str) -> tuple[_Entry, ...]:
    ordered = tuple(sorted(entries, key=lambda entry: entry.name))
    for before, entry in pairwise(ordered):
        if before.name == entry.name:
            raise DuplicateProcedure(f"Two {kind} are called `{entry.name}`")
    return ordered


def _sha256(value: object) -> str:
    try:
        canonical = msgspec.json.encode(value, order="sorted")
    except UnicodeEncodeError as error:
        raise CatalogueError(
            "A name, default or description holds half of a surrogate pair",
            hint="Write whole characters; a `\\ud800` to `\\udfff` alone is not one.",
        ) from error
    return hashlib.sha256(canonical).hexdigest()
