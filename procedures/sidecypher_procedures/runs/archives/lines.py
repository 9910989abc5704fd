"""The lines of an archived run: JSON, its values as they cross the bridge, so none loses anything.

::

    {"run":[1,"r1",{"$datetime":"2026-01-31T12:00Z"}]}             format, id, creation
    {"payload":["9c56...","a long text"]}                          SHA-256, text
    {"node":[["Event"],{"id":"e1","seq":1}]}                       labels, properties
    {"relationship":["PART_OF",["Event","e1"],["WorkflowRun","r1"],{}]}
    {"end":[2,1,"f0e4..."]}                                        nodes, relationships, digest

The digest is the SHA-256 of all lines before it. The same run has always the same lines.
"""

import hashlib
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final, cast

import msgspec

from sidecypher import EncodedRow, Row, SidecypherError
from sidecypher_procedures.runs.errors import ArchiveDamaged

FORMAT: Final = 1


class Head(Row):
    """What run it is."""

    format: int
    run_id: str
    created_at: datetime | None


class Payload(Row):
    """A text that events share."""

    sha256: str
    content: str | None


class Node(Row):
    """The run, or an event of it."""

    labels: list[str]
    properties: dict[str, Any]


class Relationship(Row):
    """A relationship of the run or of its events; each end is a label and a key."""

    type: str
    start: list[str]
    end: list[str]
    properties: dict[str, Any]


class Tail(Row):
    """What makes the lines complete."""

    nodes: int
    relationships: int
    digest: str


Line = Head | Payload | Node | Relationship | Tail


class Seal:
    """Counts the lines of a run, and computes their digest."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._nodes = self._relationships = 0

    def add(self, line: Line, text: bytes) -> None:
        """Take the next line, and how the file has it."""
        self._nodes += isinstance(line, Node)
        self._relationships += isinstance(line, Relationship)
        self._digest.update(text)

    @property
    def tail(self) -> Tail:
        """The line that makes those before it complete."""
        return Tail(
            nodes=self._nodes, relationships=self._relationships, digest=self._digest.hexdigest()
        )


_KINDS: Final[dict[str, type[Row]]] = {
    "run": Head,
    "payload": Payload,
    "node": Node,
    "relationship": Relationship,
    "end": Tail,
}
_NAMES: Final = {kind: name for name, kind in _KINDS.items()}
_decode: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def written(line: Line) -> bytes:
    """Return a line as the file has it.

    Example:
        >>> written(Tail(nodes=2, relationships=1, digest="f0e4"))
        b'{"end":[2,1,"f0e4"]}\\n'
    """
    return b'{"%s":%s}\n' % (_NAMES[type(line)].encode(), EncodedRow.of(line).json)


def read(text: bytes) -> Line:
    """Return what a line of the file says.

    Raises:
        ArchiveDamaged: It is no such line.

    Example:
        >>> read(b'{"end":[2,1,"f0e4"]}').digest
        'f0e4'
    """
    try:
        [(name, values)] = _decode(text).items()
        line = EncodedRow(_KINDS[name], bytes(values)).decode()
    except (ValueError, KeyError, TypeError, msgspec.MsgspecError, SidecypherError):
        # `from None`: the original may show what the line says.
        raise ArchiveDamaged("A line of the file is not what an archive has") from None
    return cast("Line", line)


def sealed(lines: Iterable[Line]) -> Iterator[Line]:
    """Give lines, and then the one that makes them complete."""
    seal = Seal()
    for line in lines:
        seal.add(line, written(line))
        yield line
    yield seal.tail
