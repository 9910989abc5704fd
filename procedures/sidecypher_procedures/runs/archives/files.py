"""Files of archived runs: whole or not there, and read only as they were written."""

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, Self

from sidecypher_procedures.fields import shown_id
from sidecypher_procedures.runs.archives.lines import (
    FORMAT,
    Head,
    Line,
    Seal,
    Tail,
    read,
    written,
)
from sidecypher_procedures.runs.digests import sha256
from sidecypher_procedures.runs.errors import (
    ArchiveDamaged,
    ArchiveUnavailable,
    UnknownArchive,
)

_OWNER_ONLY: Final = 0o600
_SUFFIX: Final = ".jsonl"


@dataclass(frozen=True, slots=True)
class ArchiveFile:
    """One archive of a run.

    Attributes:
        folder: Where all archives are.
        name: Its name, relative to that.
        run_id: The run.
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
    """All archives of one run. Each has a name of its own, so none replaces another.

    Attributes:
        folder: Where all archives are.
        database: The database that the run is of.
        run_id: The run.
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
        """Write the run to a file that is named by what is in it, beside those from before.

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
            UnknownArchive: There is none, or there are several.
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
