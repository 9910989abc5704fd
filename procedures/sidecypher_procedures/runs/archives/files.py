"""Files of archived runs: whole or not there, and read only as they were written."""

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final, Self

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
    RunTaken,
    UnknownArchive,
)

_OWNER_ONLY: Final = 0o600


@dataclass(frozen=True, slots=True)
class ArchiveFile:
    """The file of one run.

    Attributes:
        folder: Where all of them are.
        name: Its name, relative to that.
        run_id: The run.
    """

    folder: Path
    name: str
    run_id: str

    @classmethod
    def of(cls, folder: Path | None, database: str, run_id: str) -> Self:
        """Return the file that a run has.

        Raises:
            ArchiveUnavailable: There is no folder for archives.
        """
        if folder is None:
            raise ArchiveUnavailable(
                "There is no folder for archives of runs",
                hint="Set `SIDECYPHER_RUNS_ARCHIVE_DIR` and restart the sidecar.",
            )
        # An id may be any text, and so no name of a file.
        return cls(folder, f"{database}/{sha256(run_id)}.jsonl", run_id)

    def exists(self) -> bool:
        """Tell whether the run has been archived."""
        with _told("read"):
            return self._path.is_file()

    def write(self, lines: Iterable[Line]) -> Tail:
        """Write the run: a crash at any moment leaves the file that was there, or the new one.

        Returns:
            Its last line, as it is read back.

        Raises:
            ArchiveUnavailable: It cannot be written.
            ArchiveDamaged: What is read back is not what was written.
            RunTaken: It is there already, of another run that had the same id.
        """
        given = iter(lines)
        head = next(given)
        self._refuse_another(head)
        part = self._path.with_suffix(".part")
        with _told("written"):
            _make(self.folder)
            part.parent.mkdir(exist_ok=True)
            try:
                last = _write(part, chain([head], given))
                part.replace(self._path)
            finally:
                part.unlink(missing_ok=True)
            _sync_folders(part.parent, self.folder)
        tail = self.check()
        if tail != last:
            raise self._damaged("It is not what was written")
        return tail

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
        return seal.tail

    def lines(self) -> Iterator[Line]:
        """Give its lines; `check` tells whether they are what was written."""
        for line, _text in self._read():
            yield line

    @property
    def _path(self) -> Path:
        return self.folder / self.name

    def _read(self) -> Iterator[tuple[Line, bytes]]:
        if not self.exists():
            raise UnknownArchive(f"The run `{shown_id(self.run_id)}` was not archived")
        with _told("read"), self._path.open("rb") as file:
            for text in file:
                yield read(text), text

    def _refuse_another(self, head: Line) -> None:
        if not self.exists():
            return
        first = next(self.lines(), None)
        if not isinstance(first, Head):
            raise self._damaged("It does not begin as an archive does")
        if first != head:
            raise RunTaken(
                f"The archive has another run whose id was `{shown_id(self.run_id)}` too",
                hint=f"Move `{self.name}` out of the folder for archives.",
            )

    def _damaged(self, what: str) -> ArchiveDamaged:
        return ArchiveDamaged(
            f"The archive of the run `{shown_id(self.run_id)}` cannot be used: {what}"
        )


def _write(path: Path, lines: Iterable[Line]) -> Line | None:
    """Write lines to a file, durably; return the last one."""
    line = None
    path.unlink(missing_ok=True)
    path.touch(_OWNER_ONLY)
    with path.open("wb") as file:
        for line in lines:
            file.write(written(line))
        file.flush()
        os.fsync(file.fileno())
    return line


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
