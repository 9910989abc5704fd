"""Where the demo's GitHub data comes from: the live API, or recordings of it."""

import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx

from sidecypher.errors import SidecypherError

LIVE: Final = "https://api.github.com"
_PHASE_SECONDS: Final = 1.5
"""Time to connect, and again to answer: together GitHub has the 3 s that the demo promises."""

_CALLS_NEEDED: Final = 10


class RecordingsUnavailable(SidecypherError):
    """GitHub does not answer, and its recordings cannot be had."""

    code = "SC-603"
    default_hint = "Install Node 20 or newer, or run the demo where GitHub can be reached."


@dataclass(frozen=True, slots=True)
class Source:
    """Where the procedures fetch from.

    Attributes:
        told: One line for the person who watches.
        environ: Variables the sidecar gets.
        replay: Arguments that make the supervisor run the stand-in for GitHub.
    """

    told: str
    environ: dict[str, str]
    replay: tuple[str, ...] = ()


def choose_source(cache: Path) -> Source:
    """Return the live API when it answers within 3 s, else recordings of it.

    Args:
        cache: Folder that the recordings are installed below, once.

    Raises:
        RecordingsUnavailable: GitHub cannot be reached and the recordings cannot be had.
    """
    base_url = os.environ.get("SIDECYPHER_GITHUB_BASE_URL", LIVE)
    unreachable = _unreachable(base_url)
    if unreachable is None:
        return Source(f"GitHub data: live, from {httpx.URL(base_url).host}", {})
    port = _free_port()
    return Source(
        f"GitHub data: replayed from recordings of the real API ({unreachable})",
        # No token: the stand-in wants none, and none shall travel unencrypted.
        {
            "SIDECYPHER_GITHUB_BASE_URL": f"http://127.0.0.1:{port}",
            "SIDECYPHER_GITHUB_TOKEN": "",
            "SIDECYPHER_GITHUB_TOKEN_FILE": "",
        },
        ("--replay-payloads", str(_recordings(cache)), "--replay-port", str(port)),
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


def _recordings(cache: Path) -> Path:
    """Fetch the recordings into `cache` by npm, unless they are there."""
    done = subprocess.run(
        [sys.executable, "-m", "sidecypher_procedures.github.recorded", str(cache)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RecordingsUnavailable(
            "GitHub does not answer, and its recordings cannot be had",
            details={"log_tail": done.stderr.splitlines()[-10:]},
        )
    return Path(done.stdout.strip())


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
