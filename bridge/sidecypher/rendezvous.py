"""`sidecar.json`: where a plugin finds the sidecar, and how it knows that it is the right one."""

import os
from pathlib import Path
from typing import Final

import msgspec

from sidecypher.credentials import write_private

FILE: Final = "sidecar.json"


class Endpoint(msgspec.Struct, frozen=True):
    """An address calls may be sent to."""

    host: str
    port: int


class Rendezvous(msgspec.Struct, frozen=True):
    """The content of `sidecar.json`.

    Attributes:
        generation: Identity of this start of the sidecar.
        fingerprint: SHA-256 of its certificate, in hex.
        http: Port of `/livez`, `/readyz` and `/metrics`.
        procedures: How many procedures are loaded.
        left_out: Modules that could not be loaded, with the reason.
    """

    v: int
    generation: str
    pid: int
    endpoints: list[Endpoint]
    fingerprint: str
    http: int
    procedures: int
    left_out: dict[str, str]

    def write(self, folder: Path) -> None:
        """Put this rendezvous into the run folder, atomically."""
        write_private(folder / FILE, msgspec.json.encode(self))


def read_rendezvous(folder: Path) -> Rendezvous | None:
    """Return what the sidecar of this run folder has written, or None."""
    try:
        return msgspec.json.decode((folder / FILE).read_bytes(), type=Rendezvous)
    except (OSError, UnicodeError, msgspec.MsgspecError):
        return None


def remove_rendezvous(folder: Path, generation: str) -> None:
    """Remove the file, unless a later sidecar has replaced it."""
    written = read_rendezvous(folder)
    if written is not None and written.generation == generation and written.pid == os.getpid():
        (folder / FILE).unlink(missing_ok=True)
