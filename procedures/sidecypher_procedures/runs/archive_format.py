"""The lines of an archived run, and the files that hold them."""

import contextlib
import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, Final, Self, cast

import msgspec

from sidecypher import EncodedRow, Row, SidecypherError
from sidecypher_procedures.names import shown_id
from sidecypher_procedures.runs.errors import ArchiveDamaged, ArchiveUnavailable, UnknownArchive
from sidecypher_procedures.runs.model import sha256

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


_OWNER_ONLY: Final = 0o600
_SUFFIX: Final = ".jsonl"


@dataclass(frozen=True, slots=True)
class ArchiveFile:
    """One archive of a run.

    Attributes:
        folder: Where all archives are.
        name: Its name, relative to that.
        digest: The digest that its name says, None for a name without one.
    """

    folder: Path
    name: str
    run_id: str
    digest: str | None

    def check(self) -> Tail:
        """Read all of it; return its last line.

        Raises:
            UnknownArchive: It is not there.
            ArchiveUnavailable: It cannot be read.
            ArchiveDamaged: It is not what was written.
        """
        seal = Seal()
        end: bytes | None = None
        for number, (line, text) in enumerate(self._read()):
            if end is not None:
                raise self._damaged("It goes on behind its end")
            if (number == 0) != isinstance(line, Head):
                raise self._damaged("It does not begin as an archive does")
            if isinstance(line, Head) and (line.format, line.run_id) != (FORMAT, self.run_id):
                raise self._damaged("It is of another run or another format")
            if isinstance(line, Tail):
                end = text
            else:
                seal.add(line, text)
        if end != written(seal.tail):
            raise self._damaged("Its digest is not that of what it has")
        if self.digest not in {None, seal.tail.digest}:
            raise self._damaged("Its digest is not that of its name")
        return seal.tail

    def lines(self) -> Iterator[Line]:
        """Give its lines; `check` tells whether they are what was written."""
        for line, _text in self._read():
            yield line

    def _read(self) -> Iterator[tuple[Line, bytes]]:
        with _told("read"), self._open() as file:
            for text in file:
                yield read(text), text

    def _open(self) -> BinaryIO:
        try:
            return (self.folder / self.name).open("rb")
        except FileNotFoundError:
            raise _not_archived(self.run_id) from None

    def _damaged(self, what: str) -> ArchiveDamaged:
        return ArchiveDamaged(
            f"The archive of the run `{shown_id(self.run_id)}` cannot be used: {what}"
        )


@dataclass(frozen=True, slots=True)
class RunArchives:
    """All archives of one run. Each has its own name, so none replaces another.

    Attributes:
        folder: Where all archives are.
        database: The database that the run is of.
    """

    folder: Path
    database: str
    run_id: str

    @classmethod
    def of(cls, folder: Path | None, database: str, run_id: str) -> Self:
        """Return the archives of a run.

        Raises:
            ArchiveUnavailable: There is no folder for archives, or no database.
        """
        if folder is None:
            raise ArchiveUnavailable(
                "There is no folder for archives of runs",
                hint="Set `SIDECYPHER_RUNS_ARCHIVE_DIR` and restart the sidecar.",
            )
        if not database:
            raise ArchiveUnavailable(
                "Archives belong to a database, and this call is of none", hint="Call it by Cypher."
            )
        return cls(folder, database, run_id)

    def write(self, lines: Iterable[Line]) -> ArchiveFile:
        """Write the run to a file that is named by what is in it, next to those from before.

        A crash at any moment leaves all files that were there, and the new one whole or not at all.

        Raises:
            ArchiveUnavailable: It cannot be written.
        """
        home = self.folder / self.database
        part = home / f"{self._key}.part"
        with _told("written"):
            _make(self.folder)
            home.mkdir(exist_ok=True)
            try:
                file = self.file(_write(part, lines))
                part.replace(self.folder / file.name)
            finally:
                part.unlink(missing_ok=True)
            _sync_folders(home, self.folder)
        return file

    def file(self, digest: str) -> ArchiveFile:
        """Return the file whose content has this digest."""
        return self._named(f"{self._key}.{digest}{_SUFFIX}")

    def only(self) -> ArchiveFile:
        """Return the file of a run that has one.

        Raises:
            UnknownArchive: The run has no archive, or several.
            ArchiveUnavailable: The folder cannot be read.
        """
        with _told("read"):
            home = self.folder / self.database
            found = home.iterdir() if home.exists() else ()
            names = sorted(
                each.name
                for each in found
                if each.name.startswith(f"{self._key}.") and each.suffix == _SUFFIX
            )
        if not names:
            raise _not_archived(self.run_id)
        if len(names) > 1:
            raise UnknownArchive(
                f"The run `{shown_id(self.run_id)}` has {len(names)} archives, and the graph does "
                "not say which one is its latest",
                hint=f"Leave one of them in the folder: {', '.join(names)}.",
            )
        return self._named(names[0])

    @property
    def _key(self) -> str:
        # An id may be any text, and so no name of a file.
        return sha256(self.run_id)

    def _named(self, name: str) -> ArchiveFile:
        digest = name.removeprefix(self._key).removesuffix(_SUFFIX).removeprefix(".")
        return ArchiveFile(
            self.folder, f"{self.database}/{name}", self.run_id, digest=digest or None
        )


def _not_archived(run_id: str) -> UnknownArchive:
    return UnknownArchive(f"The run `{shown_id(run_id)}` was not archived")


def _write(path: Path, lines: Iterable[Line]) -> str:
    """Write lines to a file, durably; return the digest that the last one says."""
    digest = ""
    path.unlink(missing_ok=True)
    path.touch(_OWNER_ONLY)
    with path.open("wb") as file:
        for line in lines:
            file.write(written(line))
            if isinstance(line, Tail):
                digest = line.digest
        file.flush()
        os.fsync(file.fileno())
    return digest


def _make(folder: Path) -> None:
    """Make a folder and those above it, with durable names, where they are not there."""
    if not folder.is_dir():
        _make(folder.parent)
        folder.mkdir(exist_ok=True)
        _sync_folders(folder.parent)


def _sync_folders(*folders: Path) -> None:
    """Make names of files durable."""
    for folder in folders:
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def _told(done: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ArchiveUnavailable(
            f"An archive cannot be {done}: {error.strerror}",
            hint="Check `SIDECYPHER_RUNS_ARCHIVE_DIR`: the folder, its rights, the room there.",
        ) from error
