"""Source of the demo's GitHub data: the live API, or samples of its responses."""

import os
import socket
from dataclasses import dataclass
from typing import Any, Final

import httpx

from sidecypher.host.threads import in_thread

LIVE: Final = "https://api.github.com"
_PATIENCE_SECONDS: Final = 3.0
_SILENT: Final = "the live API does not answer from here"
_CALLS_NEEDED: Final = 10
_REAL: Final = {"owner": "Codertocat", "repoName": "Hello-World", "issueNumber": 1, "prNumber": 2}
_MADE_UP: Final = {**_REAL, "owner": "sidecypher-demo", "repoName": "lighthouse"}


@dataclass(frozen=True, slots=True)
class Source:
    """Source of GitHub data for the procedures.

    Attributes:
        notice: One line that names the source.
        parameters: Parameters of the demo's queries.
        environ: Variables for the sidecar.
        options: Options with which `supervise` runs the mock of GitHub.
    """

    notice: str
    parameters: dict[str, Any]
    environ: dict[str, str]
    options: tuple[str, ...] = ()


def choose_source(patience: float = _PATIENCE_SECONDS) -> Source:
    """Return the live API, or the samples of this package if the API does not answer in time.

    Args:
        patience: Seconds for the lookup of its name and for its answer together.
    """
    base_url = os.environ.get("SIDECYPHER_GITHUB_BASE_URL", LIVE)
    # In a thread that can be abandoned: the lookup of a name has no timeout.
    asked = in_thread(lambda: _unreachable(base_url, patience), "demo-source")
    try:
        unreachable = asked.result(patience)
    except TimeoutError:
        unreachable = _SILENT
    if unreachable is None:
        return Source(f"GitHub data: live, from {httpx.URL(base_url).host}", _REAL, {})
    port = _free_port()
    return Source(
        f"GitHub data: made-up samples ({unreachable})",
        _MADE_UP,
        # No token: the mock needs none, and none should be sent unencrypted.
        {
            "SIDECYPHER_GITHUB_BASE_URL": f"http://127.0.0.1:{port}",
            "SIDECYPHER_GITHUB_TOKEN": "",
            "SIDECYPHER_GITHUB_TOKEN_FILE": "",
        },
        ("--replay-port", str(port)),
    )


def _unreachable(base_url: str, patience: float) -> str | None:
    """Return why the API cannot serve the demo, or None if it can."""
    try:
        response = httpx.get(f"{base_url.rstrip('/')}/rate_limit", timeout=patience)
        remaining = int(response.json()["resources"]["core"]["remaining"])
    except httpx.HTTPError:
        return _SILENT
    except (ValueError, KeyError, TypeError):
        return "the live API returns no usable answer"
    return None if remaining >= _CALLS_NEEDED else "the live API's rate limit is used up"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
