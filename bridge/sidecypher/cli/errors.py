"""The errors of the command line itself.

::

    SidecypherError
    ├── ProjectRefused  SC-612   `init` cannot write a project here, or not of this name
    ├── NoPytest        SC-613   `test` needs pytest, which is not installed
    ├── StorageFailed   SC-614   a file cannot be read or written: no room, or no right
    └── UnknownProcess  SC-615   no process of this name has written a log
"""

import errno
from pathlib import Path
from typing import Final

from sidecypher.errors import SidecypherError


class ProjectRefused(SidecypherError):
    """`init` cannot write a project here, or not of this name."""

    code = "SC-612"


class NoPytest(SidecypherError):
    """`test` needs pytest, which is not installed beside sidecypher."""

    code = "SC-613"
    default_hint = "Install it where sidecypher is: `pip install pytest`."


class StorageFailed(SidecypherError):
    """A file or folder cannot be read or written: no room, or no right."""

    code = "SC-614"


class UnknownProcess(SidecypherError):
    """No process of this name has written a log in this home."""

    code = "SC-615"


_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_NO_RIGHT: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_NO_FOLDER: Final = frozenset({errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP})


def storage_failure(error: OSError) -> StorageFailed | None:
    """Return what to tell of a file that cannot be used; None when the error is about no file.

    Example:
        >>> storage_failure(OSError(errno.ENOSPC, "No space left on device", "/srv/x")).message
        '`x` cannot be written or read: No space left on device'
    """
    if error.errno in _NO_ROOM:
        hint = "Make room on that disk, or use another one: `--home` names a home elsewhere."
    elif error.errno in _NO_RIGHT:
        hint = "Give yourself the right, or use another folder: `--home` names a home elsewhere."
    elif error.errno in _NO_FOLDER:
        hint = "Correct the path: `sidecypher config` tells all of them."
    else:
        return None
    named = f"`{Path(str(error.filename)).name}`" if error.filename else "A file"
    return StorageFailed(f"{named} cannot be written or read: {error.strerror}", hint=hint)
