"""Epochs: numbers in the run folder by which plugins see that rows they keep are void.

A plugin keeps rows together with the epochs of their tags. A sidecar that invalidates a tag
replaces its epoch, and the plugin sees that by a look into memory, without a message.

The file has 64-bit numbers in little-endian order: what it is, its identity, one that each change
replaces, five that are not used, then the epochs. A tag has the epoch that its CRC-32 chooses, so
tags may share one. The first epoch is for all rows. Epochs are random, below 2 to the power of 63:
so sidecars need no lock, and none of them writes a number that was there before.
"""

import contextlib
import mmap
import secrets
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Self
from zlib import crc32

from sidecypher.host.credentials import run_folder_lock, write_private

FILE: Final = "epochs"

_EPOCHS: Final = 4096
_ALL_ROWS: Final = 0
_MAGIC: Final = int.from_bytes(b"SCEPOCH1", "little")
_IDENTITY: Final = 1
_CHANGE: Final = 2
_FIRST: Final = 8
_NUMBERS: Final = _FIRST + _EPOCHS
_BYTES: Final = 8 * _NUMBERS


class Epochs:
    """The epochs of one run folder.

    Attributes:
        identity: Identity of the file, in hex.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     epochs = Epochs.open(Path(folder))
        ...     before = epochs.of(["weather"])
        ...     epochs.replace(["weather"])
        ...     changed = [one != other for one, other in zip(epochs.of(["weather"]), before)]
        ...     epochs.close()
        >>> changed
        [False, True]
    """

    def __init__(self, path: Path) -> None:
        """Map an existing file.

        Raises:
            OSError: It cannot be mapped.
            ValueError: It is something else.
        """
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), _BYTES)
        self._numbers = memoryview(self._map).cast("Q")
        self.identity: Final = f"{self._numbers[_IDENTITY]:016x}"
        if self._numbers[0] != _MAGIC:
            self.close()
            raise ValueError("The file of epochs is something else")

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Map the file of a run folder; make it if it is missing or unusable.

        Raises:
            OSError: It cannot be made.
            RunFolderError: Another process keeps the folder locked.
        """
        path = folder / FILE
        with run_folder_lock(folder):
            with contextlib.suppress(OSError, ValueError):
                return cls(path)
            numbers = (_MAGIC, *(secrets.randbits(63) for _ in range(_NUMBERS - 1)))
            # Written whole: a part without room on the disk would end the process at its first use.
            write_private(path, struct.pack(f"<{_NUMBERS}Q", *numbers))
            return cls(path)

    @property
    def change(self) -> int:
        """A number that each change replaces."""
        return self._numbers[_CHANGE]

    def of(self, tags: Iterable[str]) -> list[tuple[int, int]]:
        """Return the places and epochs on which rows with these tags depend."""
        places = sorted({_ALL_ROWS, *map(_place, tags)})
        return [(place, self._numbers[_FIRST + place]) for place in places]

    def replace(self, tags: Iterable[str]) -> None:
        """Make rows with one of these tags void; call it after the data has changed."""
        self._replace(set(map(_place, tags)))

    def replace_all(self) -> None:
        """Make all rows void."""
        self._replace({_ALL_ROWS})

    def _replace(self, places: Iterable[int]) -> None:
        # First: who reads a replaced epoch also sees that something has changed.
        self._numbers[_CHANGE] = secrets.randbits(63)
        for place in places:
            self._numbers[_FIRST + place] = secrets.randbits(63)

    def close(self) -> None:
        """Release the memory."""
        self._numbers.release()
        self._map.close()


def _place(tag: str) -> int:
    return 1 + crc32(tag.encode(errors="surrogatepass")) % (_EPOCHS - 1)
