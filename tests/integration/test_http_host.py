"""HTTP on an address that other machines reach: health for all, everything else by token."""

import base64
import http.client
import re
import socket
from contextlib import closing
from pathlib import Path

import httpx
import psutil
import pytest

from sidecypher.app import Sidecar
from sidecypher.errors import ListenError, SettingsError
from sidecypher.host.credentials import load_credentials
from sidecypher.host.rendezvous import running_sidecars
from sidecypher.host.settings import load_settings
from sidecypher.telemetry.calls import Telemetry
from sidecypher.transport.http import server
from sidecypher.transport.http.server import HttpServer

PROCEDURES = Path(__file__).parents[1] / "procedures"
TOKEN = "0123456789abcdef" * 4
GUARDED = ("/", "/console.js", "/metrics", "/openapi.json", "/v1/procedures", "/v1/calls", "/no")
FAMILIES = {"0.0.0.0": socket.AF_INET, "::": socket.AF_INET6}


def own_address(family):
    """Return an address of this machine that is not loopback, or else the loopback one."""
    for each in [one for found in psutil.net_if_addrs().values() for one in found]:
        name = each.address.partition("%")[0]
        if each.family == family and name != "::1" and not name.startswith(("127.", "fe80")):
            return name
    return "127.0.0.1" if family == socket.AF_INET else "::1"


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """Start a sidecar in this process, and return the port of its HTTP."""
    started = []

    def start(**settings):
        folder = tmp_path_factory.mktemp("home")
        flags = {"home": folder, "procedures": [PROCEDURES], **settings}
        sidecar = Sidecar(load_settings(flags, {}))
        sidecar.start()
        started.append(sidecar)
        [found] = running_sidecars(folder / "run")
        return folder, found.http

    yield start
    for sidecar in started:
        sidecar.stop()


@pytest.fixture(scope="module", params=[*FAMILIES, "its own"])
def base(request, start, tmp_path_factory):
    """The URL of a sidecar that listens on all addresses of a family, or on a named one."""
    file = tmp_path_factory.mktemp("secret") / "http-token"
    file.write_text(f"{TOKEN}\n")
    address = own_address(FAMILIES.get(request.param, socket.AF_INET))
    host = request.param if request.param in FAMILIES else address
    _, port = start(http_host=host, http_token_file=file)
    return f"http://[{address}]:{port}" if ":" in address else f"http://{address}:{port}"


@pytest.fixture
def client(base):
    with httpx.Client(base_url=base, trust_env=False) as made:
        yield made


def test_a_token_file_that_is_missing_is_told(tmp_path):
    """The error has the system's reason, as that of a file that may not be read."""
    with pytest.raises(SettingsError, match="cannot be read: No such file"):
        load_credentials(tmp_path / "run", tmp_path / "missing")


def test_all_addresses_include_loopback_where_sockets_are_of_one_family(monkeypatch):
    """A machine may make each socket for IPv6 refuse IPv4 (`bindv6only`)."""

    class OnlyIPv6(socket.socket):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            if self.family == socket.AF_INET6:
                self.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)

    monkeypatch.setattr(server.socket, "socket", OnlyIPv6)
    [listening] = server._listen("::", 0)

    with listening, socket.create_connection(("127.0.0.1", listening.getsockname()[1]), 10):
        pass


def status_of(base, path):
    """Return the status of a GET whose path is sent as it stands."""
    url = httpx.URL(base)
    with closing(http.client.HTTPConnection(url.host, url.port, timeout=10)) as connection:
        connection.request("GET", path)
        return connection.getresponse().status


def bearer(token=TOKEN):
    return {"Authorization": f"Bearer {token}"}


def basic(token=TOKEN):
    return {"Authorization": f"Basic {base64.b64encode(f'me:{token}'.encode()).decode()}"}


def code_of(answer):
    """Return status and code of a refusal, which no page may read and which holds nothing."""
    assert not [name for name in answer.headers if name.startswith("access-control")]
    assert TOKEN not in answer.text
    assert "sidecypher_calls" not in answer.text
    return answer.status_code, answer.json()["code"]


def test_probes_need_no_token(client):
    """A kubelet asks by address and has no token."""
    assert (client.get("/livez").status_code, client.get("/readyz").status_code) == (200, 200)


@pytest.mark.parametrize("path", GUARDED)
@pytest.mark.parametrize(
    "headers",
    [
        {},
        bearer("0" * 64),
        {"Authorization": "Bearer"},
        bearer(TOKEN[:-1]),
        basic("0" * 64),
        {"Authorization": "Basic %%%"},
        {"Authorization": TOKEN},
    ],
    ids=["none", "wrong", "empty", "short", "wrong password", "no base64", "no scheme"],
)
def test_nothing_else_is_shown_without_the_token(client, path, headers):
    """Metrics, console and API are refused alike, and so is a path that is not there."""
    assert code_of(client.get(path, headers=headers)) == (401, "SC-651")


@pytest.mark.parametrize("path", ["/", "/metrics", "/v1/procedures", "/v1/calls"])
def test_the_token_opens_all_of_it(client, path):
    """A collector sends it as a bearer token, under any name of the host."""
    assert client.get(path, headers=bearer()).status_code == 200
    assert client.get(path, headers={**bearer(), "Host": "sidecar.graph.svc"}).status_code == 200


def test_a_browser_sends_the_token_as_a_password(client):
    """It may read by that and not call, since it would add the password to what a page sends."""
    asked = client.get("/").headers["WWW-Authenticate"]

    assert asked == 'Basic realm="sidecypher"'
    assert client.get("/", headers=basic()).status_code == 200
    assert client.get("/metrics", headers=basic()).status_code == 200
    refused = client.post("/v1/call/test.echo", json=["x"], headers=basic())
    assert code_of(refused) == (401, "SC-651")
    assert refused.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize(
    "path",
    [
        *("//metrics", "/metrics/", "/livez/../metrics", "/livez/%2e%2e/metrics", "/LIVEZ"),
        *("/livez%2f", "/livez;/metrics", "/readyz/", "/webhook/../metrics"),
    ],
)
def test_no_other_spelling_of_a_path_needs_no_token(base, path):
    """Only the two paths of health themselves are free, as they stand in the request."""
    assert status_of(base, path) == 401


@pytest.mark.parametrize("path", ["/webhooks/../metrics", "/webhooks/%2e%2e/metrics"])
def test_a_path_below_webhooks_leads_nowhere_else(base, path):
    """No token is asked for there, and nothing but a webhook answers, by POST."""
    assert status_of(base, path) == 405


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "", "10.0.0.1.evil", "1.2.3"])
def test_a_name_that_was_bound_to_the_address_is_refused(client, host):
    """DNS rebinding: a page whose own name means this address gets at nothing, health included."""
    for path in ("/livez", "/readyz"):
        assert code_of(client.get(path, headers={"Host": host})) == (403, "SC-652")
    for path in GUARDED:
        assert code_of(client.get(path, headers={"Host": host})) == (401, "SC-651")


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "self"])
@pytest.mark.parametrize("path", ["/livez", "/", "/metrics", "/v1/procedures"])
def test_a_page_is_refused_even_with_the_token(client, base, origin, path):
    """No page reads what is shown, and no answer permits it to (CORS)."""
    headers = {"Origin": base if origin == "self" else origin, **bearer()}
    asks = {**headers, "Access-Control-Request-Method": "GET"}

    assert code_of(client.get(path, headers=headers)) == (403, "SC-652")
    assert code_of(client.options(path, headers=asks)) == (403, "SC-652")


def test_loopback_needs_the_token_too(base):
    """A forwarded port arrives from this machine, so it is trusted no more than others."""
    port = httpx.URL(base).port
    local = f"http://[::1]:{port}" if "[" in base else f"http://127.0.0.1:{port}"
    with httpx.Client(base_url=local, trust_env=False) as client:
        assert client.get("/livez").status_code == 200
        assert code_of(client.get("/metrics")) == (401, "SC-651")
        assert client.get("/metrics", headers=bearer()).status_code == 200


def test_refused_requests_are_counted(client):
    """An operator sees tokens that were tried, and pages."""

    def count():
        text = client.get("/metrics", headers=bearer()).text
        found = re.search(r'rejected_total\{reason="wrong token",transport="http"\} (\S+)', text)
        return float(found[1]) if found else 0.0

    before = count()
    client.get("/metrics")

    assert count() == before + 1


def test_by_default_no_other_address_answers(start):
    """Without the setting only loopback is listened on, and shows metrics without a token."""
    _, port = start()
    address = own_address(socket.AF_INET)

    assert httpx.get(f"http://127.0.0.1:{port}/metrics", trust_env=False).status_code == 200
    if address != "127.0.0.1":
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((address, port), 10)


@pytest.mark.slow
def test_the_token_of_a_file_is_that_of_the_run_folder(start, tmp_path):
    """The commands of this machine find it where they always do."""
    file = tmp_path / "token"
    file.write_text(TOKEN)

    home, _ = start(http_token_file=file)

    assert (home / "run" / "http-token").read_text() == f"{TOKEN}\n"


@pytest.mark.parametrize("content", ["", "\n", "short", "x" * 31, "x" * 30 + " x", "\u00e9" * 20])
def test_a_weak_token_is_refused(start, tmp_path, content):
    """A file that has none, or a short one, keeps the sidecar from starting."""
    file = tmp_path / "token"
    file.write_text(content)

    with pytest.raises(SettingsError, match="no token that can be used"):
        start(http_host="0.0.0.0", http_token_file=file)


def test_an_address_that_this_machine_does_not_have_is_refused():
    """The error names address and option."""
    with pytest.raises(ListenError, match=r"of 203\.0\.113\.9") as caught:
        HttpServer([], 0, Telemetry(), host="203.0.113.9")

    assert "--http-host" in caught.value.hint
