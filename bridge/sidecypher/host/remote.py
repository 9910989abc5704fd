"""What a Neo4j on another machine needs to call the sidecar: one folder for its operator to copy.

Both sides pin the other's certificate: TLS proves who each is, where no kernel can. The folder
takes the place of the run folder on the other machine, and stays valid when the sidecar starts
again, so its `sidecar.json` has no generation.
"""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from sidecypher.errors import RunFolderError
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


def remote_context(folder: Path) -> ssl.SSLContext:
    """Return TLS that accepts only the certificate in the folder to copy; make it if it is missing.

    Args:
        folder: The run folder, with its credentials.

    Raises:
        RunFolderError: The folder to copy cannot be used, or a file in it is damaged.
    """
    remote = folder / FOLDER
    with _problems_told():
        with run_folder_lock(folder):
            remote.mkdir(mode=0o700, exist_ok=True)
            remote.chmod(0o700)
            if not ((remote / _KEY).exists() and (remote / _CERTIFICATE).exists()):
                key, certificate = make_certificate("sidecypher plugin")
                write_private(remote / _KEY, key)
                write_private(remote / _CERTIFICATE, certificate)
        tls = server_context(folder)
        tls.verify_mode = ssl.CERT_REQUIRED
        # The certificate itself is trusted. It is none of an authority, so it cannot issue others.
        tls.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        tls.load_verify_locations(remote / _CERTIFICATE)
        return tls


def write_remote_folder(folder: Path, credentials: Credentials, host: str, port: int) -> None:
    """Complete the folder to copy: the address of this sidecar, and the token.

    Raises:
        RunFolderError: A file cannot be written.
    """
    sidecar = Announcement("", 0, host, port, 0, 0, {})
    content = Rendezvous(credentials.fingerprint, [sidecar])
    with _problems_told():
        write_private(folder / FOLDER / "token", credentials.token + b"\n")
        write_private(folder / FOLDER / FILE, msgspec.json.encode(content))


@contextmanager
def _problems_told() -> Iterator[None]:
    try:
        yield
    except ssl.SSLError:
        raise RunFolderError(
            "The plugin's certificate in `remote` is damaged",
            hint="Delete `remote` in the run folder, start the sidecar again, and copy it.",
        ) from None
    except OSError as error:
        raise RunFolderError(
            f"The folder `remote` of the run folder cannot be used: {error.strerror}",
            hint="Choose another home with `--home` or SIDECYPHER_HOME.",
        ) from None
