"""The token of `sidecypher mcp --http`, without a server."""

import httpx
import pytest
from starlette.responses import Response

from sidecypher_procedures.agents.mcp_http import _TokenCheck

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.mark.parametrize(
    ("authorization", "status"),
    [
        ("Bearer secret", 200),
        ("bearer  secret ", 200),
        (None, 401),
        ("secret", 401),
        ("Basic secret", 401),
        ("Bearer", 401),
        ("Bearer sec", 401),
        ("Bearer secret2", 401),
        ("Bearer \u00e4".encode("latin-1"), 401),
    ],
)
async def test_a_request_needs_the_token(authorization, status):
    """Only the whole token in the scheme Bearer lets a request through."""
    headers = {} if authorization is None else {"Authorization": authorization}
    transport = httpx.ASGITransport(_TokenCheck(Response("rows"), b"secret"))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        answer = await client.get("/mcp", headers=headers)

    assert answer.status_code == status
    assert answer.text == ("rows" if status == 200 else "")
