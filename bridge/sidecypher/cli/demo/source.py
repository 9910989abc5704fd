"""Where the demo's GitHub data comes from: the live API, or samples of its answers."""

import os
import socket
from dataclasses import dataclass
from typing import Any, Final

import httpx

LIVE: Final = "https://api.github.com"
_PHASE_SECONDS: Final = 1.5
"""Time to connect, and again to answer: together GitHub has the 3 s that the demo promises."""

_CALLS_NEEDED: Final = 10
_REAL: Final = {"owner": "Codertocat", "repoName": "Hello-World", "issueNumber": 1, "prNumber": 2}
_MADE_UP: Final = {**_REAL, "owner": "sidecypher-demo", "repoName": "lighthouse"}


@dataclass(frozen=True, slots=True)
class Source:
    """Where the procedures fetch from.

    Attributes:
        told: One line for the person who watches.
        parameters: What of the graph is asked for.
        environ: Variables the sidecar gets.
        replay: Arguments that make the supervisor run the stand-in for GitHub.
    """

    told: str
    parameters: dict[str, Any]
    environ: dict[str, str]
    replay: tuple[str, ...] = ()


def choose_source() -> Source:
    """Return the live API when it answers within 3 s, else samples that this package brings."""
    base_url = os.environ.get("SIDECYPHER_GITHUB_BASE_URL", LIVE)
    unreachable = _unreachable(base_url)
    if unreachable is None:
        return Source(f"GitHub data: live, from {httpx.URL(base_url).host}", _REAL, {})
    port = _free_port()
    return Source(
        f"GitHub data: made-up samples ({unreachable})",
        _MADE_UP,
        # No token: the stand-in wants none, and none shall travel unencrypted.
        {
            "SIDECYPHER_GITHUB_BASE_URL": f"http://127.0.0.1:{port}",
            "SIDECYPHER_GITHUB_TOKEN": "",
            "SIDECYPHER_GITHUB_TOKEN_FILE": "",
        },
        ("--replay-port", str(port)),
    )


def _unreachable(base_url: str) -> str | None:
    """Return why the API cannot serve the demo, or None if it can."""
    try:
        response = httpx.get(f"{base_url.rstrip('/')}/rate_limit", timeout=_PHASE_SECONDS)
        remaining = int(response.json()["resources"]["core"]["remaining"])
    except httpx.HTTPError:
        return "the live API does not answer from here"
    except (ValueError, KeyError, TypeError):
        return "the live API gives no usable answer"
    return None if remaining >= _CALLS_NEEDED else "the live API's rate limit is used up"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
