"""A lock between processes that the operating system releases when its holder dies."""

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_POLL: Final = 0.01  # seconds


@contextmanager
def file_lock(path: Path, *, seconds: float) -> Iterator[None]:
    """Hold a lock during the `with` block; the file itself stays and has no meaning.

    Args:
        path: File to lock; created with mode 0600 if it is missing.
        seconds: How long to wait for another holder; `math.inf` waits until it releases the lock.

    Raises:
        BlockingIOError: Another process holds it for longer.

    Example:
        >>> with file_lock(Path("/tmp/example.lock"), seconds=1.0):
        ...     pass
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        deadline = time.monotonic() + seconds
        while not _try_lock(descriptor):
            if time.monotonic() >= deadline:
                raise BlockingIOError(errno.EWOULDBLOCK, "Another process holds the lock")
            time.sleep(_POLL)
        yield
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_locked(path: Path) -> bool:
    """Return whether a process holds the lock; safe to call from many processes at once.

    Example:
        >>> is_locked(Path("/tmp/no such file"))
        False
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)
