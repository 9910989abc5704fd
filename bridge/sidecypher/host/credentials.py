"""The sidecar's certificate and tokens: made at its first start, readable only by the owner."""

import hashlib
import os
import re
import secrets
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from sidecypher.errors import RunFolderError, SettingsError
from sidecypher.host.locks import file_lock

_VALID: Final = timedelta(days=3650)
_PRINTABLE: Final = re.compile(rb"[!-~]+")

MIN_TOKEN_BYTES: Final = 32
"""Shortest token for HTTP that a file may hold: 128 bits as hexadecimal digits."""

LOCK_SECONDS: Final = 10.0
"""How long a sidecar waits for others to change the run folder: each needs some milliseconds."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """Certificate of the sidecar, and the tokens that JVMs and HTTP clients must send.

    Attributes:
        fingerprint: SHA-256 of the certificate, in hex; the plugin trusts only this one.
        token: Sent by a JVM after the handshake. Never logged.
        http_token: Sent with each request over HTTP, which is not encrypted. A process that reads
            it must not gain the rights of a JVM. Never logged.
    """

    tls: ssl.SSLContext
    fingerprint: str
    token: bytes
    http_token: bytes

    def __repr__(self) -> str:
        """Return the fingerprint without the tokens."""
        return f"Credentials(fingerprint={self.fingerprint!r})"


def load_credentials(folder: Path, http_token_file: Path | None = None) -> Credentials:
    """Read the credentials in `folder`, and make missing ones.

    Args:
        folder: The run folder; it gets mode 0700, and new files in it 0600.
        http_token_file: File with the token for HTTP, which replaces that of the folder.

    Raises:
        RunFolderError: The folder cannot be used, or a file in it is damaged.
        SettingsError: The file of the token cannot be used.
    """
    given = None if http_token_file is None else _given_token(http_token_file)
    # Several sidecars may start at once, and all of them must use the same certificate.
    with _private_files(folder, "token", "http-token", "key.pem", "certificate.pem"):
        if given is not None and _read_token(folder / "http-token") != given:
            write_private(folder / "http-token", given + b"\n")
        try:
            return _load(folder)
        except ssl.SSLError:
            raise RunFolderError(
                "The sidecar's certificate or key is damaged",
                hint="Delete `certificate.pem` and `key.pem` in the run folder; "
                "they are made again.",
            ) from None


def load_token(folder: Path, name: str) -> bytes:
    """Read a token of the run folder, and make it if it is missing.

    Args:
        folder: The run folder; it gets mode 0700, and a new file in it 0600.
        name: Name of the file.

    Raises:
        RunFolderError: The folder or the file cannot be used.
    """
    with _private_files(folder, name):
        return _token(folder / name)


@contextmanager
def _private_files(folder: Path, *names: str) -> Iterator[None]:
    """Lock a run folder that belongs to this account, as its files do."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_owner(folder)
        folder.chmod(0o700)
        with run_folder_lock(folder):
            for name in names:
                if (folder / name).exists():
                    _check_owner(folder / name)
            yield
    except OSError as error:
        raise RunFolderError(
            f"The run folder cannot be used: {error.strerror}",
            hint="Choose another home with `--home` or SIDECYPHER_HOME.",
        ) from None


def _check_owner(path: Path) -> None:
    """Refuse a path of another account, which could replace it at any time."""
    if path.lstat().st_uid != os.geteuid():
        raise RunFolderError(
            f"The run folder cannot be used: `{path.name}` belongs to another account",
            hint="Choose another home with `--home` or SIDECYPHER_HOME.",
        )


@contextmanager
def run_folder_lock(folder: Path, seconds: float = LOCK_SECONDS) -> Iterator[None]:
    """Hold the lock of a run folder, so that no other sidecar changes its shared files.

    Raises:
        RunFolderError: Another process holds the lock for longer.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(file_lock(folder / "sidecars.lock", seconds=seconds))
        except BlockingIOError:
            raise RunFolderError(
                f"Another process has kept the run folder locked for {seconds:g} s",
                hint="One of its sidecars hangs. `sidecypher down` ends those that `up` started.",
            ) from None
        yield


def _load(folder: Path) -> Credentials:
    key_file, certificate_file = folder / "key.pem", folder / "certificate.pem"
    if not (key_file.exists() and certificate_file.exists()):
        # After a crash here, an old certificate with a new key would stop every start.
        certificate_file.unlink(missing_ok=True)
        key, certificate = make_certificate("sidecypher sidecar")
        write_private(key_file, key)
        write_private(certificate_file, certificate)
    tls = server_context(folder)
    certificate_der = ssl.PEM_cert_to_DER_cert(certificate_file.read_text())
    return Credentials(
        tls,
        hashlib.sha256(certificate_der).hexdigest(),
        _token(folder / "token"),
        _token(folder / "http-token"),
    )


def server_context(folder: Path) -> ssl.SSLContext:
    """Return TLS with the sidecar's certificate in this run folder.

    Raises:
        ssl.SSLError: Certificate or key is damaged.
        OSError: One of them cannot be read.
    """
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.minimum_version = ssl.TLSVersion.TLSv1_2
    # Each connection has its own handshake, and each unused session ticket costs a write.
    tls.num_tickets = 0
    tls.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
    return tls


def _given_token(file: Path) -> bytes:
    try:
        token = file.read_bytes().strip()
    except OSError as error:
        raise SettingsError(
            f"The file of `http_token_file` cannot be read: {error.strerror}"
        ) from None
    if len(token) < MIN_TOKEN_BYTES or not _PRINTABLE.fullmatch(token):
        raise SettingsError(
            "The file of `http_token_file` has no token that can be used",
            hint=f"Write at least {MIN_TOKEN_BYTES} letters and digits to it, for example those of "
            "`openssl rand -hex 32`.",
        )
    return token


def _read_token(file: Path) -> bytes:
    return file.read_bytes().strip() if file.exists() else b""


def _token(file: Path) -> bytes:
    token = _read_token(file)
    if not token:
        # Replace an empty file too: an empty token would let everyone in.
        token = secrets.token_hex(32).encode()
        write_private(file, token + b"\n")
    return token


def write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner can read, in one step: completely or not at all.

    After the return the file survives a power failure.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def make_certificate(subject: str) -> tuple[bytes, bytes]:
    """Return a new key and its self-signed certificate, as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + _VALID)
        .sign(key, hashes.SHA256())
    )
    return (
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
        certificate.public_bytes(serialization.Encoding.PEM),
    )
