"""The errors of the command line itself."""

import errno
import re
from pathlib import Path
from typing import Any, Final

from sidecypher.errors import SidecypherError


class ProjectRefused(SidecypherError):
    """`init` cannot write a project here, or not with this name."""

    code = "SC-612"


class NoPytest(SidecypherError):
    """`test` needs pytest, which is not installed next to sidecypher."""

    code = "SC-613"
    default_hint = "Install it where sidecypher is: `pip install pytest`."


class StorageFailed(SidecypherError):
    """A file or folder cannot be read or written: no space, or no permission."""

    code = "SC-614"


class UnknownProcess(SidecypherError):
    """No process of this name has written a log in this home."""

    code = "SC-615"


class NotUnderstood(SidecypherError):
    """A command or option does not exist or is missing, or its value is not valid."""

    code = "SC-616"


class NoDebugger(SidecypherError):
    """debugpy is not installed, which `sidecypher dev --debug` needs."""

    code = "SC-617"
    default_hint = "Install it where sidecypher is: `pip install debugpy`."


class NoLiveData(SidecypherError):
    """`demo --repo` needs GitHub, which does not answer or has no calls left."""

    code = "SC-526"
    default_hint = (
        "Check the network, the proxy and SIDECYPHER_GITHUB_BASE_URL, or set "
        "SIDECYPHER_GITHUB_TOKEN for more calls; without `--repo` the demo runs on samples."
    )


_ELSEWHERE: Final = "`--home` names a home elsewhere."
_NO_ROOM: Final = f"Free space on that disk, or use another one: {_ELSEWHERE}"
_NO_RIGHT: Final = f"Change its permissions, or use another folder: {_ELSEWHERE}"
_NO_FOLDER: Final = "Correct the path: `sidecypher config` lists all paths."
_HINTS: Final = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), _NO_ROOM),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), _NO_RIGHT),
    **dict.fromkeys((errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP), _NO_FOLDER),
    errno.ENOENT: "Correct the path, or change to an existing folder.",
    errno.EBUSY: "Wait until nothing else uses it, or use another folder.",
    errno.EIO: f"Check that disk, or use another one: {_ELSEWHERE}",
    **dict.fromkeys((errno.EMFILE, errno.ENFILE), "Allow more open files: `ulimit -n 4096`."),
}
"""Hint for each error number."""

_QUOTED: Final = re.compile(r"'([^']*)'")
_NEGATIVE: Final = re.compile(r"\ANo such option: -\.?\d")
_MEANT: Final = re.compile(r"\.? (?:Did you mean (.+)\?|\(Possible options: (.+)\))$")


def storage_failure(error: OSError) -> StorageFailed | None:
    """Return the error to show if a file cannot be used; None if the error is not about a file.

    Example:
        >>> storage_failure(OSError(errno.ENOSPC, "No space left on device", "/srv/x")).message
        '`x` cannot be written or read: No space left on device'
    """
    hint = _HINTS.get(error.errno or 0)
    if hint is None:
        return None
    named = f"`{Path(str(error.filename)).name}`" if error.filename else "A file"
    return StorageFailed(f"{named} cannot be written or read: {error.strerror}", hint=hint)


def not_understood(error: Any) -> NotUnderstood:
    """Return the error to show for a command line that Typer does not understand.

    Args:
        error: A usage error of Typer; the type has no public name.
    """
    text = _QUOTED.sub(r"`\1`", error.format_message()).replace(": Value error, ", ": ")
    meant = _MEANT.search(text)
    message = text[: meant.start()] if meant else text.rstrip(".")
    hint = f"Run `{error.ctx.command_path if error.ctx else 'sidecypher'} --help` for details."
    if _NEGATIVE.match(text):
        hint = f"Write `--` before values that begin with `-`. {hint}"
    if meant:
        nearest = " or ".join(f"`{name}`" for name in re.findall(r"[\w-]+", meant[1] or meant[2]))
        hint = f"Did you mean {nearest}? {hint}"
    return NotUnderstood(message, hint=hint)
