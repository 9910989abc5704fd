"""`sidecar.json`: the addresses of the sidecars of a run folder, and their certificate.

All sidecars of one run folder share its certificate and tokens. Each adds itself when it is ready
and removes itself when it stops. A killed one cannot do that, but its lock ends with its process.
So the next sidecar that starts or stops removes it.
"""

import contextlib
import os
import stat
import tempfile
from pathlib import Path
from typing import Final, Literal

import msgspec

from sidecypher.errors import RunFolderError
from sidecypher.host.credentials import run_folder_lock, write_private
from sidecypher.host.locks import file_lock, is_locked

FILE: Final = "sidecar.json"

MOST_PATH_BYTES: Final = 107
"""The longest path of a unix socket, without the zero that ends it (`unix(7)`)."""

LEAVE_LOCK_SECONDS: Final = 1.0
"""How long a sidecar that stops waits for others to change the run folder."""


class Announcement(msgspec.Struct, frozen=True):
    """One sidecar, as it announces itself.

    Attributes:
        generation: Identity of this start of the sidecar.
        pid: Id of its process.
        host: Host on which plugins reach it by TLS, with `port`.
        http: Port of `/livez`, `/readyz` and `/metrics`.
        procedures: Number of loaded procedures.
        left_out: Reasons by name: of modules that failed, and of procedures that are not offered.
        socket: Path of the unix socket on which plugins reach it; empty if it has none.
    """

    generation: str
    pid: int
    host: str
    port: int
    http: int
    procedures: int
    left_out: dict[str, str]
    socket: str = ""


class Rendezvous(msgspec.Struct, frozen=True):
    """The content of `sidecar.json`.

    Attributes:
        fingerprint: SHA-256, in hex, of the certificate of all sidecars.
        sidecars: In the order in which they started; may include a killed one.
    """

    fingerprint: str
    sidecars: list[Announcement]
    v: Literal[2] = 2


_decode: Final = msgspec.json.Decoder(Rendezvous).decode


class Membership:
    """Entry of a sidecar in `sidecar.json`, until it leaves or its process ends.

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
        """Add a sidecar that is ready for calls.

        Raises:
            OSError: The file cannot be written.
            RunFolderError: Another process keeps the folder locked.
        """
        self._folder = folder
        self._own = own
        self._alive = contextlib.ExitStack()
        try:
            with run_folder_lock(folder):
                self._join(fingerprint)
        except BaseException:
            self.leave()
            raise

    def _join(self, fingerprint: str) -> None:
        folder, own = self._folder, self._own
        self._alive.enter_context(file_lock(_lock_file(folder, own), seconds=0))
        found = read_rendezvous(folder)
        # Plugins could not verify a sidecar that has another certificate.
        fits = found is not None and found.fingerprint == fingerprint
        others = _running(folder, found) if found is not None and fits else []
        if not others:
            # The file lists no running sidecar. On a full disk its space is needed.
            (folder / FILE).unlink(missing_ok=True)
        _write(folder, Rendezvous(fingerprint, [*others, own]))

    def renew(self, own: Announcement) -> None:
        """Replace the entry of this sidecar, whose generation stays the same.

        On a full disk, or while another process keeps the folder locked, the file stays as it was.
        Its ports are still valid.
        """
        with contextlib.suppress(OSError, RunFolderError), run_folder_lock(self._folder):
            found = read_rendezvous(self._folder)
            if found is not None and self._own in found.sidecars:
                sidecars = [own if each == self._own else each for each in found.sidecars]
                _write(self._folder, Rendezvous(found.fingerprint, sidecars))
                self._own = own

    def leave(self) -> None:
        """Remove the sidecar, so that plugins send it no further calls.

        On a full disk, or while another process keeps the folder locked, it stays in the file, and
        it refuses the calls of plugins.
        """
        locked = run_folder_lock(self._folder, LEAVE_LOCK_SECONDS)
        with contextlib.suppress(OSError, RunFolderError), locked:
            found = read_rendezvous(self._folder)
            if found is not None and self._own in found.sidecars:
                others = [each for each in _running(self._folder, found) if each != self._own]
                _write(self._folder, Rendezvous(found.fingerprint, others))
        self._alive.close()
        with contextlib.suppress(OSError):
            _lock_file(self._folder, self._own).unlink(missing_ok=True)


def read_rendezvous(folder: Path) -> Rendezvous | None:
    """Return the content of `sidecar.json`, or None if it cannot be read."""
    try:
        return _decode((folder / FILE).read_bytes())
    except (OSError, UnicodeError, msgspec.MsgspecError):
        return None


def running_sidecars(folder: Path) -> list[Announcement]:
    """Return the running sidecars of this run folder, the oldest first."""
    found = read_rendezvous(folder)
    sidecars = found.sidecars if found is not None else []
    return [each for each in sidecars if _is_running(folder, each)]


def _running(folder: Path, found: Rendezvous) -> list[Announcement]:
    """Return the running sidecars, and delete the lock files of the others."""
    running = [each for each in found.sidecars if _is_running(folder, each)]
    for each in found.sidecars:
        if each not in running:
            _lock_file(folder, each).unlink(missing_ok=True)
            remove_socket(folder, each.socket)
    return running


def place_for_socket(folder: Path, generation: str) -> Path:
    """Return a path for the socket of a sidecar that is short enough for the system.

    If the run folder's path is too long, it is in a new private folder for temporary files.
    """
    path = folder / f"{generation[:8]}.sock"
    if len(os.fsencode(path)) <= MOST_PATH_BYTES:
        return path
    place = tempfile.mkdtemp(prefix="sidecypher-", dir=os.environ.get("XDG_RUNTIME_DIR"))
    return Path(place) / "sock"


def remove_socket(folder: Path, socket: str) -> None:
    """Remove the socket of a sidecar that has ended, and a folder that was made for it."""
    path = Path(socket)
    with contextlib.suppress(OSError):
        facts = path.lstat()
        if stat.S_ISSOCK(facts.st_mode) and facts.st_uid == os.geteuid():
            path.unlink()
    if socket and path.parent != folder and path.parent.name.startswith("sidecypher-"):
        with contextlib.suppress(OSError):
            path.parent.rmdir()


def _is_running(folder: Path, sidecar: Announcement) -> bool:
    return is_locked(_lock_file(folder, sidecar))


def _lock_file(folder: Path, sidecar: Announcement) -> Path:
    """Return the file that a sidecar keeps locked; another process could get its process id."""
    return folder / f"{sidecar.generation}.alive"


def _write(folder: Path, rendezvous: Rendezvous) -> None:
    if rendezvous.sidecars:
        write_private(folder / FILE, msgspec.json.encode(rendezvous))
    else:
        (folder / FILE).unlink(missing_ok=True)
