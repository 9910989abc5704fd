"""S6: a web page, or anybody without the token for HTTP, gets at no procedure."""

import re
import socket
from pathlib import Path

import httpx
import pytest

from sidecypher.app import Sidecar
from sidecypher.host.rendezvous import running_sidecars
from sidecypher.host.settings import load_settings

PROCEDURES = Path(__file__).parents[1] / "procedures"
JSON = "application/json"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """The home of a sidecar that runs in this process."""
    folder = tmp_path_factory.mktemp("home")
    sidecar = Sidecar(load_settings({"home": folder, "procedures": [PROCEDURES]}, {}))
    sidecar.start()
    yield folder
    sidecar.stop()


@pytest.fixture
def port(home):
    [sidecar] = running_sidecars(home / "run")
    return sidecar.http


@pytest.fixture
def token(home):
    return (home / "run" / "http-token").read_text().strip()


@pytest.fixture
def client(port):
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, verify=False) as made:
        yield made


@pytest.fixture
def call(client, token):
    """Call a procedure as it is done rightly, but for what a test changes."""

    def send(**changed):
        headers = {"Authorization": f"Bearer {token}", "Content-Type": JSON} | changed
        headers = {name: value for name, value in headers.items() if value is not None}
        return client.post("/v1/call/test.echo", content=b'["x"]', headers=headers)

    return send


@pytest.fixture(autouse=True)
def _nothing_runs_and_nothing_leaks(client, token, capfd):
    """No attack reaches a body, and no answer or log holds the token or lets a page read it."""

    def served():
        found = re.search(r'calls_total\{outcome="ok",procedure="test.echo"\} (\S+)', metrics())
        return float(found[1]) if found else 0.0

    def metrics():
        return client.get("/metrics").text

    before = served()
    yield
    assert served() == before
    assert token not in metrics()
    assert token not in str(capfd.readouterr())


def refused(answer, status, code):
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_rightly_done_it_works(client, token):
    """What the attacks below change is all that they lack."""
    answer = client.post(
        "/v1/call/test.maybe", json=[True], headers={"Authorization": f"bearer {token}"}
    )

    assert answer.json() == {"rows": [{"value": "there"}]}


@pytest.mark.parametrize(
    "shown",
    [
        None,
        "",
        "Bearer",
        "Bearer x",
        "Bearer " + "0" * 64,
        "Bearer " + "0" * 10_000,
        "Bearer \x7f\xff",
        "{token}",
        "Basic {token}",
        "Bearer {token}x",
        "Bearer x{token}",
        "Bearer {token} {token}",
    ],
)
def test_without_the_token_nothing_is_told(client, call, token, shown):
    """A missing, empty, wrong or huge token is a 401, for calls and for the catalogue."""
    value = None if shown is None else shown.replace("{token}", token).encode("latin-1")

    refused(call(Authorization=value), 401, "SC-651")
    for path in ("/v1/procedures", "/openapi.json"):
        headers = {} if value is None else {"Authorization": value}
        refused(client.get(path, headers=headers), 401, "SC-651")


def test_the_token_of_a_jvm_is_none(home, client, call):
    """Both tokens lie side by side, but only that for HTTP opens it."""
    other = (home / "run" / "token").read_text().strip()

    refused(call(Authorization=f"Bearer {other}"), 401, "SC-651")


def test_a_token_in_the_address_is_none(client, token):
    """Addresses end up in logs and histories, so the token is not looked for there."""
    for name in ("token", "access_token", "Authorization"):
        refused(client.post("/v1/call/test.echo", params={name: token}, json=["x"]), 401, "SC-651")


def test_a_header_without_end_is_cut_off(port):
    """A head of a request larger than 64 KiB ends the connection."""
    with socket.create_connection(("127.0.0.1", port), 10) as connection:
        connection.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ")
        with pytest.raises(OSError):  # noqa: PT012 - the first of many writes that fails
            for _ in range(1_000):
                connection.sendall(b"x" * 65_536)


@pytest.mark.parametrize(
    "kind",
    [
        None,
        "",
        "text/plain",
        "text/plain; charset=application/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonp",
        "application/problem+json",
    ],
)
def test_what_a_form_can_send_is_refused(call, kind):
    """Only JSON is taken; for that type a browser asks first, and is told no."""
    refused(call(**{"Content-Type": kind}), 415, "SC-653")


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost@evil", "", "0.0.0.0",
     "localhost:", "127.0.0.1 evil", "[::1].evil", "LOCALHOST.evil", "127.1"],
)  # fmt: skip
def test_a_name_that_was_bound_to_this_machine_is_refused(client, call, host):
    """DNS rebinding: a page whose own name means 127.0.0.1 gets at nothing, health included."""
    refused(call(Host=host), 403, "SC-652")
    for path in ("/livez", "/readyz", "/metrics", "/openapi.json", "/nothing"):
        refused(client.get(path, headers={"Host": host}), 403, "SC-652")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1", "[::1]:7000"])
def test_the_names_of_this_machine_are_taken(client, host):
    """With or without a port, these are the names by which programs here know it."""
    assert client.get("/livez", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "hosts", [[], ["localhost", "evil.example"], ["evil.example", "localhost"]]
)
def test_not_one_host_is_none(port, hosts):
    """A request with no `Host`, or two, is refused."""
    head = "".join(f"Host: {host}\r\n" for host in hosts)
    with socket.create_connection(("127.0.0.1", port), 10) as connection:
        connection.sendall(f"GET /livez HTTP/1.0\r\n{head}\r\n".encode())

        assert connection.makefile().readline().split()[1] in {"400", "403"}


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://localhost:7474", "self", ""]
)
def test_a_page_is_refused_whatever_its_origin(client, call, origin):
    """Any `Origin` is one too many, that of this very server too."""
    origin = str(client.base_url) if origin == "self" else origin

    refused(call(Origin=origin), 403, "SC-652")
    refused(client.get("/metrics", headers={"Origin": origin}), 403, "SC-652")


def test_a_browser_that_asks_first_is_told_no(client):
    """A preflight gets no permission."""
    asks = {
        "Origin": "http://evil.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type",
    }

    refused(client.options("/v1/call/test.echo", headers=asks), 403, "SC-652")
    refused(client.options("/v1/call/test.echo"), 405, "SC-653")


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "PATCH"])
def test_nothing_is_called_by_following_a_link(client, token, method):
    """A call is a POST; no other method has effects, even with the token."""
    answer = client.request(
        method, "/v1/call/test.echo", headers={"Authorization": f"Bearer {token}"}
    )

    assert answer.status_code == 405


def test_an_upgrade_to_a_web_socket_is_not_made(client):
    """There is no socket that a page could open without the same-origin policy."""
    answer = client.get(
        "/v1/call/test.echo", headers={"Connection": "Upgrade", "Upgrade": "websocket"}
    )

    assert answer.status_code == 405
