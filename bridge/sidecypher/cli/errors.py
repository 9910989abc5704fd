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


_ELSEWHERE: Final = "`--home` names a home elsewhere."
_NO_ROOM: Final = f"Make room on that disk, or use another one: {_ELSEWHERE}"
_NO_RIGHT: Final = f"Give yourself the right, or use another folder: {_ELSEWHERE}"
_NO_FOLDER: Final = "Correct the path: `sidecypher config` tells all of them."
_HINTS: Final = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), _NO_ROOM),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), _NO_RIGHT),
    **dict.fromkeys((errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP), _NO_FOLDER),
    errno.ENOENT: "It was taken away, or the current folder was: go to one that is there.",
    errno.EBUSY: "Wait until nothing else uses it, or use another folder.",
    errno.EIO: f"Look after that disk, or use another one: {_ELSEWHERE}",
    **dict.fromkeys((errno.EMFILE, errno.ENFILE), "Allow more open files: `ulimit -n 4096`."),
}
"""What to do about each of them."""


def storage_failure(error: OSError) -> StorageFailed | None:
    """Return what to tell of a file that cannot be used; None when the error is about no file.

    Example:
        >>> storage_failure(OSError(errno.ENOSPC, "No space left on device", "/srv/x")).message
        '`x` cannot be written or read: No space left on device'
    """
    hint = _HINTS.get(error.errno or 0)
    if hint is None:
        return None
    named = f"`{Path(str(error.filename)).name}`" if error.filename else "A file"
    return StorageFailed(f"{named} cannot be written or read: {error.strerror}", hint=hint)
