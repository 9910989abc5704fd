"""The log files of a home, read from where one has read before."""

from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from sidecypher.cli.logs.lines import Line, read_line

_PIECE: Final = 1 << 20
"""Bytes that are read at once."""


def log_files(folder: Path, processes: Collection[str]) -> "list[LogFile]":
    """Return the logs of these processes, or of all when none is named."""
    found = [LogFile(path) for path in sorted(folder.glob("*.log"))]
    return [file for file in found if not processes or file.process in processes]


class LogFile:
    """One log, and how far it was read.

    Attributes:
        process: Name of the process that writes it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.process = path.stem
        self._offset = 0
        self._begun = b""
        self._order = ""

    def skip_to_last(self, lines: int) -> None:
        """Leave out all but so many of the last lines."""
        wanted = lines
        with suppress(FileNotFoundError), self.path.open("rb") as file:
            start = file.seek(0, 2)
            while start:
                end, start = start, max(0, start - _PIECE)
                file.seek(start)
                piece = file.read(end - start)
                if piece.count(b"\n") > wanted:
                    # Split once for each line that is wanted, and at the end of the one before.
                    self._offset = start + len(piece.rsplit(b"\n", wanted + 1)[0]) + 1
                    return
                wanted -= piece.count(b"\n")

    def fresh(self) -> Iterator[Line]:
        """Yield the lines that were written since the last time; a begun one has to wait.

        A file that was removed meanwhile has none.
        """
        with suppress(FileNotFoundError), self.path.open("rb") as file:
            if file.seek(0, 2) < self._offset:
                # Copied and truncated, as programs that rotate logs do.
                self._offset, self._begun = 0, b""
            file.seek(self._offset)
            while piece := file.read(_PIECE):
                self._offset += len(piece)
                *whole, self._begun = (self._begun + piece).split(b"\n")
                for text in whole:
                    line = read_line(self.process, text.decode(errors="replace"), self._order)
                    self._order = line.order
                    yield line
