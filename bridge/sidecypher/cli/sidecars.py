"""HTTP requests to sidecars of this machine, with the token of their run folder."""

from pathlib import Path
from typing import Any, Final

import httpx

from sidecypher.host.rendezvous import Announcement
from sidecypher.host.settings import Settings
from sidecypher.runtime.process.state import read_state

_HEALTH_SECONDS: Final = 2.0


def run_folder_of(settings: Settings) -> Path:
    """Return the run folder of the sidecars of an installation.

    Sidecars of `up` use the one in the home, even if the settings name another one for `serve`.
    """
    state = read_state(settings.home)
    return settings.home / "run" if state is not None and state.alive else settings.run_folder


def send_request(
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
        run_folder: Folder in which the sidecar has announced itself.
        sidecar: Receiver of the request.
        method: For example `GET`.
        path: For example `/v1/procedures`.
        seconds: Timeout for connecting, and for each part of the response.
        content: Body of the request, sent as JSON; None sends no body.

    Raises:
        OSError: The token cannot be read.
        httpx.HTTPError: There is no response.
    """
    token = (run_folder / "http-token").read_text(encoding="utf-8").strip()
    headers = {"Authorization": f"Bearer {token}"}
    return _send(sidecar, method, path, headers=headers, timeout=seconds, json=content)


def is_ready(sidecar: Announcement) -> bool:
    """Return whether a sidecar reports that it is ready; needs no token."""
    try:
        return _send(sidecar, "GET", "/readyz", timeout=_HEALTH_SECONDS).is_success
    except httpx.HTTPError:
        return False


def is_live(sidecar: Announcement) -> bool:
    """Return whether a sidecar responds at all; needs no token.

    A connection that it accepts and closes counts: strangers can make it close connections, and
    must not be able to have it killed.
    """
    try:
        _send(sidecar, "GET", "/livez", timeout=_HEALTH_SECONDS)
    except (httpx.TimeoutException, httpx.ConnectError):
        return False
    except httpx.HTTPError:
        return True
    return True


def _send(sidecar: Announcement, method: str, path: str, **more: Any) -> httpx.Response:
    # A proxy could not reach a server that listens on the loopback interface.
    url = f"http://127.0.0.1:{sidecar.http}{path}"
    return httpx.request(method, url, trust_env=False, **more)
