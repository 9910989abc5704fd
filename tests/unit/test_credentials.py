"""Certificate and tokens: made once, for the owner's eyes only."""

import hashlib
import os
import socket
import ssl
import stat
import threading
from functools import partial
from pathlib import Path

import pytest

from sidecypher.errors import RunFolderError
from sidecypher.host import credentials
from sidecypher.host.credentials import (
    load_credentials,
    load_token,
    run_folder_lock,
    write_private,
)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def secrets_of(credentials):
    names = ("fingerprint", "token", "http_token")
    return {name: getattr(credentials, name) for name in names}


@pytest.fixture
def run_dir(tmp_path):
    return tmp_path / "home" / "run"


@pytest.fixture
def open_umask():
    """A umask that would let others read and write."""
    before = os.umask(0)
    yield
    os.umask(before)


def test_files_and_folder_are_private(run_dir, open_umask):
    """The folder has mode 0700 and each file 0600, whatever the umask says."""
    load_credentials(run_dir)

    assert mode(run_dir) == 0o700
    assert {path.name: mode(path) for path in run_dir.iterdir()} == {
        "certificate.pem": 0o600,
        "http-token": 0o600,
        "key.pem": 0o600,
        "sidecars.lock": 0o600,
        "token": 0o600,
    }


def test_a_run_folder_of_another_account_is_refused(run_dir, monkeypatch):
    """Its owner could put a certificate and a token of their own there, and be the sidecar."""
    run_dir.mkdir(parents=True)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)

    with pytest.raises(RunFolderError, match="`run` belongs to another account"):
        load_credentials(run_dir)

    assert list(run_dir.iterdir()) == []


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file to somebody else")
@pytest.mark.parametrize("name", ["token", "http-token", "key.pem", "certificate.pem"])
def test_a_secret_of_another_account_is_refused(run_dir, name):
    """Who owns it knows what it holds."""
    load_credentials(run_dir)
    os.chown(run_dir / name, 12345, -1)

    with pytest.raises(RunFolderError, match=f"`{name}` belongs to another account"):
        load_credentials(run_dir)


def test_a_folder_that_others_could_enter_is_closed(run_dir):
    """A folder that was there with a wider mode gets 0700."""
    run_dir.mkdir(parents=True)
    run_dir.chmod(0o755)

    load_credentials(run_dir)

    assert mode(run_dir) == 0o700


def test_a_second_start_has_the_same_credentials(run_dir):
    """Certificate and tokens outlive the process, so that a JVM goes on trusting them."""
    first, second = load_credentials(run_dir), load_credentials(run_dir)

    assert secrets_of(first) == secrets_of(second)


def test_two_homes_have_nothing_in_common(tmp_path):
    """Each home has tokens and a certificate of its own."""
    first, second = load_credentials(tmp_path / "a"), load_credentials(tmp_path / "b")

    assert not set(secrets_of(first).values()) & set(secrets_of(second).values())


@pytest.mark.parametrize(
    ("missing", "changes"),
    [
        ("token", "token"),
        ("http-token", "http_token"),
        ("certificate.pem", "fingerprint"),
        ("key.pem", "fingerprint"),
    ],
)
def test_what_is_missing_is_made_again(run_dir, missing, changes):
    """A deleted file is made anew, and the rest stays usable."""
    before = secrets_of(load_credentials(run_dir))
    (run_dir / missing).unlink()

    after = secrets_of(load_credentials(run_dir))

    assert [name for name in before if after[name] != before[name]] == [changes]


def test_a_kill_between_key_and_certificate_costs_nothing(run_dir, monkeypatch):
    """A new key never stays beside an old certificate: the next start makes both."""
    load_credentials(run_dir)
    (run_dir / "key.pem").unlink()

    def killed(path, content):
        if path.name == "certificate.pem":
            raise KeyboardInterrupt
        write_private(path, content)

    with monkeypatch.context() as patched:
        patched.setattr(credentials, "write_private", killed)
        with pytest.raises(KeyboardInterrupt):
            load_credentials(run_dir)

    assert load_credentials(run_dir).tls


def test_a_run_folder_that_is_held_is_an_error_in_bounded_time(run_dir, monkeypatch):
    """Who holds the lock for ever, such as a frozen sidecar, keeps no other one waiting for it."""
    load_credentials(run_dir)
    briefly = partial(run_folder_lock, seconds=0.1)
    monkeypatch.setattr(credentials, "run_folder_lock", briefly)

    with run_folder_lock(run_dir), pytest.raises(RunFolderError, match=r"locked for 0.1 s") as held:
        load_credentials(run_dir)

    assert "`sidecypher down`" in held.value.hint
    assert load_credentials(run_dir).token


@pytest.mark.parametrize(("name", "file"), [("token", "token"), ("http_token", "http-token")])
def test_each_token_is_long_and_one_line(run_dir, name, file):
    """A token has 256 random bits and is one line of hex."""
    token = getattr(load_credentials(run_dir), name)

    assert len(bytes.fromhex(token.decode())) == 32
    assert (run_dir / file).read_bytes() == token + b"\n"


def test_http_has_a_token_of_its_own(run_dir):
    """HTTP is not encrypted: who overhears its token has not that of a JVM."""
    credentials = load_credentials(run_dir)

    assert credentials.http_token != credentials.token


def test_a_token_of_a_package_is_made_once_for_its_owner(run_dir, open_umask):
    """A package gets the same secret at each start, and it is not that of the sidecar."""
    token = load_token(run_dir, "acme-token")

    assert len(bytes.fromhex(token.decode())) == 32
    assert load_token(run_dir, "acme-token") == token
    assert load_token(run_dir, "other-token") != token
    assert (run_dir / "acme-token").read_bytes() == token + b"\n"
    assert (mode(run_dir), mode(run_dir / "acme-token")) == (0o700, 0o600)
    assert token not in {load_credentials(run_dir).token, load_credentials(run_dir).http_token}


def test_an_empty_token_of_a_package_is_replaced(run_dir):
    """An empty token would let everyone in."""
    run_dir.mkdir(parents=True)
    (run_dir / "acme-token").write_text("\n")

    assert load_token(run_dir, "acme-token")


def test_a_token_file_that_cannot_be_read_is_explained(run_dir):
    """The error has a code, not the path of the file."""
    (run_dir / "acme-token").mkdir(parents=True)

    with pytest.raises(RunFolderError, match="The run folder cannot be used") as caught:
        load_token(run_dir, "acme-token")
    assert str(run_dir) not in str(caught.value)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file to somebody else")
def test_a_token_of_a_package_in_foreign_hands_is_refused(run_dir):
    """Its owner knows the token."""
    load_token(run_dir, "acme-token")
    os.chown(run_dir / "acme-token", 12345, -1)

    with pytest.raises(RunFolderError, match="`acme-token` belongs to another account"):
        load_token(run_dir, "acme-token")


def test_no_token_is_ever_shown(run_dir):
    """Neither `repr` nor `str` has a token in it."""
    credentials = load_credentials(run_dir)

    for shown in (repr(credentials), str(credentials), f"{[credentials]}"):
        assert credentials.token.decode() not in shown
        assert credentials.http_token.decode() not in shown
        assert credentials.fingerprint in shown


def test_the_fingerprint_is_that_of_the_certificate_a_peer_sees(run_dir):
    """A peer that hashes the certificate of the handshake gets the fingerprint."""
    credentials = load_credentials(run_dir)
    ours, theirs = socket.socketpair()
    ours.settimeout(5)
    theirs.settimeout(5)

    def serve():
        with credentials.tls.wrap_socket(ours, server_side=True) as connection:
            connection.recv(1)

    server = threading.Thread(target=serve)
    server.start()
    trusting = ssl.create_default_context()
    trusting.check_hostname = False
    trusting.verify_mode = ssl.CERT_NONE

    with trusting.wrap_socket(theirs) as connection:
        seen = connection.getpeercert(binary_form=True)
        version = connection.version()
    server.join(5)

    assert hashlib.sha256(seen).hexdigest() == credentials.fingerprint
    assert version == "TLSv1.3"


def test_old_versions_of_tls_are_refused(run_dir):
    """Nothing below TLS 1.2 is spoken."""
    assert load_credentials(run_dir).tls.minimum_version == ssl.TLSVersion.TLSv1_2


def test_a_private_file_replaces_the_one_before(tmp_path, open_umask):
    """A file is replaced in one step, with mode 0600, and no draft stays."""
    path = tmp_path / "secret"
    path.write_bytes(b"old")
    path.chmod(0o644)

    write_private(path, b"new")

    assert path.read_bytes() == b"new"
    assert mode(path) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_private_file_outlives_a_loss_of_power(tmp_path, monkeypatch):
    """Its content is on the disk before its name is, and its name before the write returns."""
    path = tmp_path / "secret"
    done = []

    def fsync(descriptor):
        done.append((Path(f"/proc/self/fd/{descriptor}").readlink().name[:7], path.exists()))

    monkeypatch.setattr(os, "fsync", fsync)
    write_private(path, b"new")

    assert done == [(".secret", False), (tmp_path.name[:7], True)]


def test_a_write_that_fails_leaves_everything_as_it_was(tmp_path):
    """When the file cannot be replaced, the error comes through and no draft stays."""
    path = tmp_path / "secret"
    path.mkdir()

    with pytest.raises(OSError, match="directory"):
        write_private(path, b"new")

    assert list(tmp_path.iterdir()) == [path]


def test_a_write_of_something_else_leaves_the_old_file(tmp_path):
    """When the content cannot be written, the old one stays and no draft does."""
    path = tmp_path / "secret"
    path.write_bytes(b"old")

    with pytest.raises(TypeError):
        write_private(path, "text")

    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
