"""Lines and files of archived runs."""

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
    """The first line: identifies the run."""

    format: int
    run_id: str
    created_at: datetime | None


class Payload(Row):
    """A text that events share."""

    sha256: str
    content: str | None


class Node(Row):
    """The run, or one of its events."""

    labels: list[str]
    properties: dict[str, Any]


class Relationship(Row):
    """A relationship of the run or of its events; each end is a label and a key."""

    type: str
    start: list[str]
    end: list[str]
    properties: dict[str, Any]


class Tail(Row):
    """The last line: the counts and the digest of the lines before it."""

    nodes: int
    relationships: int
    digest: str


Line = Head | Payload | Node | Relationship | Tail


class TailBuilder:
    """Builder of the last line: counts the lines before it and computes their digest."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._nodes = self._relationships = 0

    def add(self, line: Line, text: bytes) -> None:
        """Add the next line, with its bytes in the file."""
        self._nodes += isinstance(line, Node)
        self._relationships += isinstance(line, Relationship)
        self._digest.update(text)

    @property
    def tail(self) -> Tail:
        """The last line for the lines added so far."""
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


def encode_line(line: Line) -> bytes:
    """Return the bytes of a line in the file.

    Example:
        >>> encode_line(Tail(nodes=2, relationships=1, digest="f0e4"))
        b'{"end":[2,1,"f0e4"]}\\n'
    """
    return b'{"%s":%s}\n' % (_NAMES[type(line)].encode(), EncodedRow.of(line).json)


def decode_line(text: bytes) -> Line:
    """Parse a line of the file.

    Raises:
        ArchiveDamaged: It is not a line of an archive.

    Example:
        >>> decode_line(b'{"end":[2,1,"f0e4"]}').digest
        'f0e4'
    """
    try:
        [(name, values)] = _decode(text).items()
        line = EncodedRow(_KINDS[name], bytes(values)).decode()
    except (ValueError, KeyError, TypeError, msgspec.MsgspecError, SidecypherError):
        # `from None`: the original error may show content of the line.
        raise ArchiveDamaged("A line of the file is not what an archive has") from None
    return cast("Line", line)


def with_tail(lines: Iterable[Line]) -> Iterator[Line]:
    """Yield lines, followed by the last line with their counts and digest."""
    builder = TailBuilder()
    for line in lines:
        builder.add(line, encode_line(line))
        yield line
    yield builder.tail


_OWNER_ONLY: Final = 0o600
_SUFFIX: Final = ".jsonl"


@dataclass(frozen=True, slots=True)
class ArchiveFile:
    """One archive of a run.

    Attributes:
        folder: The folder of all archives.
        name: Its name, relative to the folder.
        digest: The digest in its name, None for a name without digest.
    """

    folder: Path
    name: str
    run_id: str
    digest: str | None

    def check(self) -> Tail:
        """Verify the whole file; return its last line.

        Raises:
            UnknownArchive: The file does not exist.
            ArchiveUnavailable: The file cannot be read.
            ArchiveDamaged: The file was changed.
        """
        builder = TailBuilder()
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
                builder.add(line, text)
        if end != encode_line(builder.tail):
            raise self._damaged("Its digest is not that of what it has")
        if self.digest not in {None, builder.tail.digest}:
            raise self._damaged("Its digest is not that of its name")
        return builder.tail

    def lines(self) -> Iterator[Line]:
        """Yield its lines without verifying them; use `check` for that."""
        for line, _text in self._read():
            yield line

    def _read(self) -> Iterator[tuple[Line, bytes]]:
        with _file_errors("read"), self._open() as file:
            for text in file:
                yield decode_line(text), text

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
        folder: The folder of all archives.
        database: The database of the run.
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
        """Write the run to a new file named by its digest, next to earlier archives.

        After a crash at any moment, earlier files are intact and the new one is complete or absent.

        Raises:
            ArchiveUnavailable: The file cannot be written.
        """
        home = self.folder / self.database
        part = home / f"{self._key}.part"
        with _file_errors("written"):
            _make_folder(self.folder)
            home.mkdir(exist_ok=True)
            try:
                file = self.file(_write_lines(part, lines))
                part.replace(self.folder / file.name)
            finally:
                part.unlink(missing_ok=True)
            _sync_folders(home, self.folder)
        return file

    def file(self, digest: str) -> ArchiveFile:
        """Return the file whose content has this digest."""
        return self._named(f"{self._key}.{digest}{_SUFFIX}")

    def only(self) -> ArchiveFile:
        """Return the only file of a run.

        Raises:
            UnknownArchive: The run has no archive, or several.
            ArchiveUnavailable: The folder cannot be read.
        """
        with _file_errors("read"):
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
        # An id may be any text, even one that is not allowed as a file name.
        return sha256(self.run_id)

    def _named(self, name: str) -> ArchiveFile:
        digest = name.removeprefix(self._key).removesuffix(_SUFFIX).removeprefix(".")
        return ArchiveFile(
            self.folder, f"{self.database}/{name}", self.run_id, digest=digest or None
        )


def _not_archived(run_id: str) -> UnknownArchive:
    return UnknownArchive(f"The run `{shown_id(run_id)}` was not archived")


def _write_lines(path: Path, lines: Iterable[Line]) -> str:
    """Write lines to a file durably; return the digest in the last line."""
    digest = ""
    path.unlink(missing_ok=True)
    path.touch(_OWNER_ONLY)
    with path.open("wb") as file:
        for line in lines:
            file.write(encode_line(line))
            if isinstance(line, Tail):
                digest = line.digest
        file.flush()
        os.fsync(file.fileno())
    return digest


def _make_folder(folder: Path) -> None:
    """Create a folder and its parents durably."""
    if not folder.is_dir():
        _make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        _sync_folders(folder.parent)


def _sync_folders(*folders: Path) -> None:
    """Sync folders, so that the names of their files survive a power cut."""
    for folder in folders:
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def _file_errors(done: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ArchiveUnavailable(
            f"An archive cannot be {done}: {error.strerror}",
            hint="Check `SIDECYPHER_RUNS_ARCHIVE_DIR`: the folder, its rights, the room there.",
        ) from error
