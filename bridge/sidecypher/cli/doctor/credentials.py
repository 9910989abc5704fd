"""What must be nobody else's: files of tokens, keys and passwords; and the certificate's dates."""

import os
import stat
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509

from sidecypher.cli.doctor.findings import Finding, error, ok, warn
from sidecypher.cli.doctor.subject import Subject
from sidecypher.settings import PREFIX

_SOON: Final = timedelta(days=30)
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_RENEW: Final = (
    "Delete `certificate.pem` and `key.pem` in the run folder and restart all its sidecars."
)


def look_at_private_files(subject: Subject) -> Finding:
    """Tell whether files with secrets, and the run folder, are for their owner alone."""
    own = [file for file in _own_files(subject) if file.exists()]
    problems = [problem for file in own for problem in _problems(file.name, file)]
    if problems:
        return error("; ".join(problems), "Run `chmod 600` on files and `chmod 700` on folders.")
    named = [each for each in _named_files(subject) if each[1].exists()]
    open_ones = [problem for name, file in named for problem in _problems(name, file)]
    if open_ones:
        return warn("; ".join(open_ones), "Run `chmod 600` on it, unless others are to read it.")
    count = len(own) + len(named)
    return ok(f"{count} of them, each for its owner alone" if count else "there are none yet")


def look_at_certificate(subject: Subject) -> Finding:
    """Tell until when the sidecar's certificate is valid."""
    file = subject.run_folder / "certificate.pem"
    if not file.exists():
        return ok("it is made at the first start")
    try:
        certificate = x509.load_pem_x509_certificate(file.read_bytes())
    except ValueError:
        return error("it is damaged", _RENEW)
    now = datetime.now(UTC)
    begins, ends = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    # The plugin knows the certificate by its hash, and goes on whatever its dates.
    if now < begins:
        return warn(f"it is valid from {begins:%Y-%m-%d} on: a clock is or was wrong", _RENEW)
    if now >= ends:
        return warn(f"it was valid until {ends:%Y-%m-%d}", _RENEW)
    if ends - now < _SOON:
        return warn(f"it is valid until {ends:%Y-%m-%d} only", _RENEW)
    return ok(f"it is valid until {ends:%Y-%m-%d}")


def _own_files(subject: Subject) -> Iterator[Path]:
    run_folder = subject.run_folder
    yield run_folder
    for name in ("token", "http-token", "key.pem", "server-password"):
        yield run_folder / name
    yield subject.settings.home / "neo4j-password"


def _named_files(subject: Subject) -> Iterator[tuple[str, Path]]:
    """Yield the files of secrets that variables name, of procedures too, with their variables."""
    for variable, value in sorted(subject.environ.items()):
        if variable.startswith(PREFIX) and variable.endswith("_FILE") and value:
            yield variable, Path(value)


def _problems(name: str, file: Path) -> Iterator[str]:
    found = file.stat()
    if found.st_mode & _OTHERS:
        yield f"`{name}` has the mode {stat.S_IMODE(found.st_mode):04o}"
    if found.st_uid != os.geteuid():
        yield f"`{name}` belongs to another user"
