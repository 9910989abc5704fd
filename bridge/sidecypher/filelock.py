"""A lock between processes that the operating system drops when its holder dies."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def file_lock(path: Path, *, wait: bool) -> Iterator[None]:
    """Hold a lock while the body runs; the file itself stays and means nothing.

    Args:
        path: File to lock; made with mode 0600 when it is missing.
        wait: Whether to wait for another holder.

    Raises:
        BlockingIOError: If another process holds it and `wait` is false.

    Example:
        >>> with file_lock(Path("/tmp/example.lock"), wait=True):
        ...     pass
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def is_locked(path: Path) -> bool:
    """Tell whether some process holds the lock; others may ask at the same time.

    Args:
        path: The file that would be locked.

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
