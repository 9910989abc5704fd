"""Sidecars of this machine, asked over HTTP as by the owner of their run folder."""

from pathlib import Path
from typing import Any, Final

import httpx

from sidecypher.host.rendezvous import Announcement
from sidecypher.host.settings import Settings
from sidecypher.runtime.process.state import read_state

_HEALTH_SECONDS: Final = 2.0


def run_folder_of(settings: Settings) -> Path:
    """Return where the sidecars of an installation meet the plugin.

    Those that `up` has started do so in the home, whatever run folder `serve` is told.
    """
    state = read_state(settings.home)
    return settings.home / "run" if state is not None and state.alive else settings.run_folder


def ask(
    run_folder: Path,
    sidecar: Announcement,
    method: str,
    path: str,
    *,
    seconds: float,
    content: Any = None,
) -> httpx.Response:
    """Send a request with the token of the run folder.

    Args:
        run_folder: Where the sidecar has announced itself.
        sidecar: The one that is asked.
        method: Such as `GET`.
        path: Such as `/v1/procedures`.
        seconds: How long connecting may take, and each wait for a part of the answer.
        content: What is sent as JSON, if it is not None.

    Raises:
        OSError: The token cannot be read.
        httpx.HTTPError: There is no answer.
    """
    token = (run_folder / "http-token").read_text(encoding="utf-8").strip()
    headers = {"Authorization": f"Bearer {token}"}
    return _send(sidecar, method, path, headers=headers, timeout=seconds, json=content)


def is_ready(sidecar: Announcement) -> bool:
    """Tell whether a sidecar says that it is ready; that needs no token."""
    try:
        return _send(sidecar, "GET", "/readyz", timeout=_HEALTH_SECONDS).is_success
    except httpx.HTTPError:
        return False


def is_live(sidecar: Announcement) -> bool:
    """Tell whether a sidecar answers at all; that needs no token.

    A connection that it accepts and cuts is an answer: strangers can make it cut connections, and
    must not have it killed.
    """
    try:
        _send(sidecar, "GET", "/livez", timeout=_HEALTH_SECONDS)
    except (httpx.TimeoutException, httpx.ConnectError):
        return False
    except httpx.HTTPError:
        return True
    return True


def _send(sidecar: Announcement, method: str, path: str, **more: Any) -> httpx.Response:
    # No proxy reaches what listens on this machine only.
    url = f"http://127.0.0.1:{sidecar.http}{path}"
    return httpx.request(method, url, trust_env=False, **more)
