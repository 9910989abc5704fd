"""A listener for Neo4j on another machine: both sides prove who they are."""

import json
import shutil
import socket
import ssl

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from fix_tls import client_context
from fix_waiting import wait_until

from sidecypher.errors import ListenError, RunFolderError
from sidecypher.host.credentials import load_credentials, make_certificate
from sidecypher.host.limits import Limits
from sidecypher.host.remote import FOLDER, remote_context, write_remote_folder
from sidecypher.transport.listeners import TlsListener

HOST = "127.0.0.2"


@pytest.fixture
def remote(stand, tmp_path):
    """A server for another machine, and the folder that its operator copies."""
    credentials = load_credentials(tmp_path)
    listener = TlsListener(0, remote_context(tmp_path), HOST)
    server = stand.serve(listener, limits=Limits())
    write_remote_folder(tmp_path, credentials, HOST, listener.port)
    yield tmp_path / FOLDER
    server.stop()


def issued(remote, folder):
    """Make a certificate with the key of the plugin's one as its issuer."""
    issuer = x509.load_pem_x509_certificate((remote / "plugin-certificate.pem").read_bytes())
    signing = load_pem_private_key((remote / "plugin-key.pem").read_bytes(), None)
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = (
        x509.CertificateBuilder()
        .subject_name(issuer.subject)
        .issuer_name(issuer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(issuer.not_valid_before_utc)
        .not_valid_after(issuer.not_valid_after_utc)
        .sign(signing, hashes.SHA256())
    )
    (folder / "c").write_bytes(certificate.public_bytes(Encoding.PEM))
    (folder / "k").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return folder / "c", folder / "k"


def connect(folder, certificate=None, key=None):
    """Connect as the plugin does, with the address in the folder; return what it sends."""
    content = json.loads((folder / "sidecar.json").read_text())
    [sidecar] = content["sidecars"]
    context = client_context()
    if certificate is not None:
        context.load_cert_chain(certificate, key)
    plain = socket.create_connection((sidecar["host"], sidecar["port"]), 10)
    try:
        with context.wrap_socket(plain) as tls:
            tls.sendall(b"A\n" + (folder / "token").read_bytes())
            return tls.recv(100)
    except (ssl.SSLError, ConnectionError):
        return b""


def test_who_has_the_folder_is_let_in(stand, remote):
    """Its certificate, its address and its token are all that a plugin needs."""
    (remote / "token").write_bytes(stand.credentials.token + b"\n")

    assert connect(remote, remote / "plugin-certificate.pem", remote / "plugin-key.pem") == b"!yv\n"
    content = json.loads((remote / "sidecar.json").read_text())
    assert [each["generation"] for each in content["sidecars"]] == [""]
    assert all(each.stat().st_mode & 0o077 == 0 for each in [remote, *remote.iterdir()])


@pytest.mark.parametrize("kind", ["none", "another", "issued by the plugin's"])
def test_who_has_no_certificate_or_another_one_is_refused(stand, remote, kind, tmp_path):
    """The token is worth nothing without the plugin's own certificate."""
    (remote / "token").write_bytes(stand.credentials.token + b"\n")
    refused = _refused(stand)
    own = ()
    if kind == "another":
        own = (tmp_path / "c", tmp_path / "k")
        for path, content in zip(own, reversed(make_certificate("sidecypher plugin")), strict=True):
            path.write_bytes(content)
    elif kind != "none":
        own = issued(remote, tmp_path)

    assert connect(remote, *own) == b""
    wait_until(lambda: _refused(stand) > refused)


def _refused(stand):
    labels = {"transport": "py4j", "reason": "TLS failed"}
    found = stand.telemetry.metrics.get_sample_value("sidecypher_rejected_total", labels)
    # There is no such number before the first one.
    return found or 0


def test_the_folder_stays_valid_when_the_sidecar_starts_again(remote, tmp_path):
    """Nothing has to be copied a second time."""
    before = {each.name: each.read_bytes() for each in remote.iterdir()}

    remote_context(tmp_path)

    assert {each.name: each.read_bytes() for each in remote.iterdir()} == before


def test_a_damaged_folder_says_what_to_delete(tmp_path):
    """A certificate that is none is an error with the way out, and so is a file in the way."""
    load_credentials(tmp_path)
    remote_context(tmp_path)
    (tmp_path / FOLDER / "plugin-certificate.pem").write_text("no certificate")
    with pytest.raises(RunFolderError, match="is damaged") as caught:
        remote_context(tmp_path)
    assert "Delete `remote`" in caught.value.hint

    shutil.rmtree(tmp_path / FOLDER)
    (tmp_path / FOLDER).write_text("a file")
    with pytest.raises(RunFolderError, match="cannot be used: File exists"):
        remote_context(tmp_path)


def test_an_address_of_another_machine_is_an_error(tmp_path):
    """The error names the address and what to do."""
    load_credentials(tmp_path)
    tls = remote_context(tmp_path)

    with pytest.raises(ListenError, match=r"192\.0\.2\.1") as caught:
        TlsListener(0, tls, "192.0.2.1")
    assert "SIDECYPHER_LISTEN" in caught.value.hint
