"""`sidecar.json`: where plugins find the sidecars of a run folder, and how they recognise them.

All sidecars of one run folder share its certificate and tokens. Each adds itself when it is ready
and takes itself out when it stops. One that was killed cannot do that: the next one that comes or
goes drops it, since the lock that says that it runs has gone with its process.
"""

import contextlib
from pathlib import Path
from typing import Final, Literal

import msgspec

from sidecypher.errors import RunFolderError
from sidecypher.host.credentials import run_folder_lock, write_private
from sidecypher.host.locks import file_lock, is_locked

FILE: Final = "sidecar.json"

LEAVE_LOCK_SECONDS: Final = 1.0
"""How long a sidecar that leaves waits for others that change the run folder."""


class Announcement(msgspec.Struct, frozen=True):
    """One sidecar, as it tells others of itself.

    Attributes:
        generation: Identity of this start of the sidecar.
        pid: Its process.
        host: Where plugins reach it, with `port`.
        http: Port of `/livez`, `/readyz` and `/metrics`.
        procedures: How many procedures are loaded.
        left_out: What could not be loaded, or is decorated but not offered, with the reason.
    """

    generation: str
    pid: int
    host: str
    port: int
    http: int
    procedures: int
    left_out: dict[str, str]


class Rendezvous(msgspec.Struct, frozen=True):
    """The content of `sidecar.json`.

    Attributes:
        fingerprint: SHA-256 of the certificate that all of them have, in hex.
        sidecars: In the order in which they came; one that was killed may still be among them.
    """

    fingerprint: str
    sidecars: list[Announcement]
    v: Literal[2] = 2


class Membership:
    """The place of a sidecar in `sidecar.json`, until it leaves or its process ends.

    Example:
        >>> import tempfile
        >>> own = Announcement("5f0c", 4711, "127.0.0.1", 40001, 40002, 3, {})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     membership = Membership(Path(folder), "ab" * 32, own)
        ...     print([each.port for each in running_sidecars(Path(folder))])
        ...     membership.leave()
        ...     print(running_sidecars(Path(folder)))
        [40001]
        []
    """

    def __init__(self, folder: Path, fingerprint: str, own: Announcement) -> None:
        """Add a sidecar that is ready to be called."""
        self._folder = folder
        self._own = own
        self._alive = contextlib.ExitStack()
        with run_folder_lock(folder):
            self._alive.enter_context(file_lock(_sign_of_life(folder, own), seconds=0))
            found = read_rendezvous(folder)
            # A sidecar with another certificate could not be recognised any more.
            fits = found is not None and found.fingerprint == fingerprint
            others = _living(folder, found) if found is not None and fits else []
            if not others:
                # The file lists no running sidecar. On a full disk its space is needed.
                (folder / FILE).unlink(missing_ok=True)
            _write(folder, Rendezvous(fingerprint, [*others, own]))

    def renew(self, own: Announcement) -> None:
        """Tell what has changed about this sidecar, whose generation stays the same.

        On a full disk, or while another process keeps the folder locked, the file stays as it was,
        which names the same ports.
        """
        with contextlib.suppress(OSError, RunFolderError), run_folder_lock(self._folder):
            found = read_rendezvous(self._folder)
            if found is not None and self._own in found.sidecars:
                sidecars = [own if each == self._own else each for each in found.sidecars]
                _write(self._folder, Rendezvous(found.fingerprint, sidecars))
                self._own = own

    def leave(self) -> None:
        """Take the sidecar out, so that plugins send it no further calls.

        On a full disk, or while another process keeps the folder locked, it stays in the file, and
        plugins find that it refuses their calls.
        """
        locked = run_folder_lock(self._folder, LEAVE_LOCK_SECONDS)
        with contextlib.suppress(OSError, RunFolderError), locked:
            found = read_rendezvous(self._folder)
            if found is not None and self._own in found.sidecars:
                others = [each for each in _living(self._folder, found) if each != self._own]
                _write(self._folder, Rendezvous(found.fingerprint, others))
        self._alive.close()
        with contextlib.suppress(OSError):
            _sign_of_life(self._folder, self._own).unlink(missing_ok=True)


def read_rendezvous(folder: Path) -> Rendezvous | None:
    """Return what the sidecars of this run folder have written, or None."""
    try:
        return msgspec.json.decode((folder / FILE).read_bytes(), type=Rendezvous)
    except (OSError, UnicodeError, msgspec.MsgspecError):
        return None


def running_sidecars(folder: Path) -> list[Announcement]:
    """Return the sidecars of this run folder whose processes run, the oldest first."""
    found = read_rendezvous(folder)
    return [each for each in found.sidecars if _runs(folder, each)] if found is not None else []


def _living(folder: Path, found: Rendezvous) -> list[Announcement]:
    """Return the sidecars that run, and clean up after the others."""
    living = [each for each in found.sidecars if _runs(folder, each)]
    for each in found.sidecars:
        if each not in living:
            _sign_of_life(folder, each).unlink(missing_ok=True)
    return living


def _runs(folder: Path, sidecar: Announcement) -> bool:
    return is_locked(_sign_of_life(folder, sidecar))


def _sign_of_life(folder: Path, sidecar: Announcement) -> Path:
    """Where a sidecar holds a lock; a process id would not do, since another may get it."""
    return folder / f"{sidecar.generation}.alive"


def _write(folder: Path, rendezvous: Rendezvous) -> None:
    if rendezvous.sidecars:
        write_private(folder / FILE, msgspec.json.encode(rendezvous))
    else:
        (folder / FILE).unlink(missing_ok=True)
