"""The panels of the console of the shared installation: over HTTP, and in a browser."""

import httpx
import pytest


@pytest.fixture
def sidecar_http(server, session):
    """A client of the sidecar's HTTP server with the token."""
    token = (server.home / "run" / "http-token").read_text().strip()
    with httpx.Client(
        base_url=f"http://127.0.0.1:{server.sidecar.http}",
        headers={"Authorization": f"Bearer {token}"},
        trust_env=False,
        timeout=60,
    ) as http:
        yield http


@pytest.fixture
def blocks(sidecar_http):
    """Return the blocks of a panel, or of one thing of it."""

    def blocks(name, id_=None):
        params = {} if id_ is None else {"id": id_}
        answer = sidecar_http.get(f"/v1/panels/{name}", params=params).json()
        assert answer["problem"] is None
        return answer["blocks"]

    return blocks


@pytest.fixture
def open_panel(sidecar_http, visit):
    """Open a panel, and show it the token."""

    def open_panel(path, **options):
        found = visit(f"{sidecar_http.base_url}/panels/{path}", **options)
        token = sidecar_http.headers["authorization"].removeprefix("Bearer ")
        found.page.get_by_label("Token for HTTP").fill(token)
        found.page.get_by_role("button", name="Show", exact=True).click()
        found.page.get_by_role("button", name="Forget the token").wait_for()
        return found

    return open_panel
