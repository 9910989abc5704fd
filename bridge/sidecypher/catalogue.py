"""The catalogue: every procedure's signature as data, with one hash over all of it.

Plugin and sidecar each hold a catalogue. Equal hashes mean that they agree about everything; when
the hashes differ, the signature of the one procedure that is called decides.
"""

import hashlib
from collections.abc import Iterable
from itertools import pairwise
from typing import Literal, Self

import msgspec

from sidecypher.errors import DuplicateProcedure, SidecypherError

__all__ = [
    "Catalogue",
    "CatalogueError",
    "ColumnEntry",
    "DefaultEntry",
    "Mode",
    "ParameterEntry",
    "ProcedureEntry",
    "signature_of",
]

Mode = Literal["READ", "WRITE", "SCHEMA"]

_SIGNATURE_DIGITS = 16


class CatalogueError(SidecypherError):
    """A catalogue cannot be read, or is not what its hash says."""

    code = "SC-104"
    default_hint = "Write the catalogue anew with `sidecypher plugin build`."


class DefaultEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What Neo4j passes when the caller leaves a parameter out.

    Attributes:
        text: The text for ``@Name(defaultValue = ...)``.
        any: Whether the parameter is ``ANY`` for Neo4j, so that its null can stand for the Python
            default; the declared type is then checked by the Java core.
    """

    text: str
    any: bool = False


class ParameterEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One parameter, as Cypher sees it."""

    name: str
    type: str
    nullable: bool = False
    default: DefaultEntry | None = None


class ColumnEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One column of the rows a procedure yields."""

    name: str
    type: str
    description: str = ""


class ProcedureEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One procedure: all that the plugin must know to offer it to Cypher.

    Attributes:
        name: Full Cypher name, such as ``github.getIssue``.
        timeout_ms: The longest a call may take, in milliseconds.
        signature: What `signature_of` gives for name, mode, parameters and columns.
    """

    name: str
    mode: Mode
    description: str
    timeout_ms: int
    signature: str
    parameters: tuple[ParameterEntry, ...]
    columns: tuple[ColumnEntry, ...]


class Catalogue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All procedures, sorted by name, and the hash of them.

    Attributes:
        version: Version of this format.
        hash: SHA-256, in hex, of the procedures' canonical JSON.

    Example:
        >>> Catalogue.build([]).procedures
        ()
    """

    version: Literal[1]
    hash: str
    procedures: tuple[ProcedureEntry, ...]

    @classmethod
    def build(cls, entries: Iterable[ProcedureEntry]) -> Self:
        """Sort the entries by name and hash them.

        Raises:
            DuplicateProcedure: Two entries have one name.
            CatalogueError: A text cannot be written as UTF-8.
        """
        procedures = tuple(sorted(entries, key=lambda entry: entry.name))
        for before, entry in pairwise(procedures):
            if before.name == entry.name:
                raise DuplicateProcedure(f"Two procedures are called `{entry.name}`")
        return cls(version=1, hash=_sha256(procedures), procedures=procedures)

    def to_json(self) -> bytes:
        """Give the catalogue as JSON, always the same bytes for an equal catalogue."""
        return msgspec.json.encode(self)

    @classmethod
    def from_json(cls, text: bytes | str) -> Self:
        """Read what `to_json` wrote, and check it against its hash and signatures.

        Raises:
            CatalogueError: The text is no catalogue of this version, or was changed by hand.
        """
        try:
            read = msgspec.json.decode(text, type=cls)
        except (msgspec.DecodeError, UnicodeError) as error:
            raise CatalogueError(f"This is no catalogue: {error}") from error
        for entry in read.procedures:
            if entry.signature != signature_of(
                entry.name, entry.mode, entry.parameters, entry.columns
            ):
                raise CatalogueError(f"The signature of `{entry.name}` is not the one it states")
        if read != cls.build(read.procedures):
            raise CatalogueError("The catalogue's hash or order does not fit its procedures")
        return read


def signature_of(
    name: str,
    mode: Mode,
    parameters: Iterable[ParameterEntry],
    columns: Iterable[ColumnEntry],
) -> str:
    """Hash what a plugin and a sidecar must agree on to call one procedure.

    Descriptions and the timeout are left out: a plugin that holds older ones can still call.

    Returns:
        The first 16 hex digits of a SHA-256.

    Raises:
        CatalogueError: A text cannot be written as UTF-8.

    Example:
        >>> signature_of("kg.ping", "READ", [], [ColumnEntry("pong", "BOOLEAN")])
        '053725ae06756dcf'
    """
    shape = (name, mode, tuple(parameters), [(column.name, column.type) for column in columns])
    return _sha256(shape)[:_SIGNATURE_DIGITS]


def _sha256(value: object) -> str:
    try:
        canonical = msgspec.json.encode(value, order="sorted")
    except UnicodeEncodeError as error:
        raise CatalogueError(
            "A name, default or description holds half of a surrogate pair",
            hint="Write whole characters; a `\\ud800` to `\\udfff` alone is none.",
        ) from error
    return hashlib.sha256(canonical).hexdigest()
