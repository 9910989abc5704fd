"""Source of the demo's GitHub data: the live API, or samples of its responses."""

import os
import socket
from dataclasses import dataclass
from typing import Any, Final

import httpx

from sidecypher.cli.errors import NoLiveData
from sidecypher.host.threads import in_thread

LIVE: Final = "https://api.github.com"
_PATIENCE_SECONDS: Final = 3.0
"""For the lookup of the API's name and for its answer together."""

_SILENT: Final = "the live API does not answer from here"
_USED_UP: Final = "the live API's rate limit is used up"
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


def choose_source() -> Source:
    """Return the live API, or the samples of this package if the API does not answer in time."""
    reason = _outage()
    if reason is None:
        return _live(_REAL)
    port = _free_port()
    return Source(
        f"GitHub data: made-up samples ({reason})",
        _MADE_UP,
        # No token: the mock needs none, and none should be sent unencrypted.
        {
            "SIDECYPHER_GITHUB_BASE_URL": f"http://127.0.0.1:{port}",
            "SIDECYPHER_GITHUB_TOKEN": "",
            "SIDECYPHER_GITHUB_TOKEN_FILE": "",
        },
        ("--replay-port", str(port)),
    )


def live_source(repository: str) -> Source:
    """Return the live API for a repository ``OWNER/NAME``.

    Args:
        repository: Its full name.

    Raises:
        NoLiveData: The API does not answer in time or not as GitHub does, or has no calls left and
            the sidecar has no credentials.
    """
    reason = _outage()
    # Credentials of the sidecar, which this process does not send, may have calls left.
    if reason is not None and not (reason == _USED_UP and _has_credentials()):
        raise NoLiveData(f"The demo cannot read `{repository}`: {reason}")
    owner, _, name = repository.partition("/")
    return _live({"owner": owner, "repoName": name})


def _live(parameters: dict[str, Any]) -> Source:
    return Source(f"GitHub data: live, from {httpx.URL(_base_url()).host}", parameters, {})


def _base_url() -> str:
    return os.environ.get("SIDECYPHER_GITHUB_BASE_URL", "").strip() or LIVE


def _has_credentials() -> bool:
    names = (f"SIDECYPHER_GITHUB_{name}" for name in ("TOKEN", "TOKEN_FILE", "APP_ID"))
    return any(os.environ.get(name, "").strip() for name in names)


def _outage() -> str | None:
    """Return why the API cannot serve the demo, or None if it can."""
    base_url = _base_url()
    # In a thread that can be abandoned: the lookup of a name has no timeout.
    asked = in_thread(lambda: _unreachable(base_url), "demo-source")
    try:
        return asked.result(_PATIENCE_SECONDS)
    except TimeoutError:
        return _SILENT


def _unreachable(base_url: str) -> str | None:
    """Return why the API cannot serve the demo, or None if it can."""
    try:
        response = httpx.get(f"{base_url.rstrip('/')}/rate_limit", timeout=_PATIENCE_SECONDS)
        remaining = int(response.json()["resources"]["core"]["remaining"])
    except httpx.HTTPError:
        return _SILENT
    except (ValueError, KeyError, TypeError):
        return "the live API returns no usable answer"
    return None if remaining >= _CALLS_NEEDED else _USED_UP


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
