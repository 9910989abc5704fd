"""What a Neo4j on another machine needs to call the sidecar: one folder for its operator to copy.

Both sides pin the other's certificate: TLS proves who each is, where no kernel can. The folder
takes the place of the run folder on the other machine, and stays valid when the sidecar starts
again, so its `sidecar.json` has no generation.
"""

import hashlib
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from sidecypher.host.credentials import (
    Credentials,
    make_certificate,
    run_folder_lock,
    server_context,
    write_private,
)
from sidecypher.host.rendezvous import FILE, Announcement, Rendezvous

FOLDER: Final = "remote"
_KEY: Final = "plugin-key.pem"
_CERTIFICATE: Final = "plugin-certificate.pem"


@dataclass(frozen=True, slots=True)
class RemoteAccess:
    """TLS for plugins on another machine.

    Attributes:
        tls: Requires the plugin's certificate.
        fingerprint: SHA-256 of that certificate, in hex.
    """

    tls: ssl.SSLContext
    fingerprint: str


def load_remote_access(folder: Path) -> RemoteAccess:
    """Read the plugin's certificate in the folder to copy, or make it.

    Args:
        folder: The run folder, with its credentials.

    Raises:
        OSError: A file cannot be read or written.
        RunFolderError: Another process keeps the folder locked.
    """
    remote = folder / FOLDER
    with run_folder_lock(folder):
        remote.mkdir(mode=0o700, exist_ok=True)
        remote.chmod(0o700)
        if not ((remote / _KEY).exists() and (remote / _CERTIFICATE).exists()):
            key, certificate = make_certificate("sidecypher plugin")
            write_private(remote / _KEY, key)
            write_private(remote / _CERTIFICATE, certificate)
    tls = server_context(folder)
    tls.verify_mode = ssl.CERT_REQUIRED
    # The certificate is trusted itself, and not as one that issues others.
    tls.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    tls.load_verify_locations(remote / _CERTIFICATE)
    der = ssl.PEM_cert_to_DER_cert((remote / _CERTIFICATE).read_text(encoding="ascii"))
    return RemoteAccess(tls, hashlib.sha256(der).hexdigest())


def write_remote_folder(folder: Path, credentials: Credentials, host: str, port: int) -> None:
    """Complete the folder to copy: the address of this sidecar, and the token.

    Raises:
        OSError: A file cannot be written.
    """
    sidecar = Announcement("", 0, host, port, 0, 0, {})
    content = Rendezvous(credentials.fingerprint, [sidecar])
    write_private(folder / FOLDER / "token", credentials.token + b"\n")
    write_private(folder / FOLDER / FILE, msgspec.json.encode(content))
