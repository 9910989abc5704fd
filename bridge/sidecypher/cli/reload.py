"""`sidecypher reload`: load changed procedures while Neo4j and the sidecars keep running."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import httpx

from sidecypher.cli.options import AsJson, Config, Home
from sidecypher.cli.output import show_json, show_next, show_text, working
from sidecypher.cli.sidecars import run_folder_of, send_request
from sidecypher.errors import ReloadFailed
from sidecypher.host.rendezvous import Announcement, running_sidecars
from sidecypher.host.settings import Settings, load_own_settings
from sidecypher.runtime.errors import NotRunning

Change = dict[str, Any]
"""A row of the procedure `sidecypher.reload`."""

_RELOAD_SECONDS: Final = 130.0
"""Slightly more than the timeout of the procedure."""

_NEEDS_PLUGIN: Final = frozenset({"added", "signature changed", "options changed", "removed"})


def reload(home: Home = None, config: Config = None, as_json: AsJson = False) -> None:
    """Load changed procedures in every running sidecar.

    Running calls finish with the code they started with. Prints the rows of
    [`sidecypher.reload`](sidecypher.md#sidecypherreload).

    ```sh
    sidecypher reload
    ```
    """
    changes = reload_all(load_own_settings({"home": home}, config))
    if as_json:
        show_json(changes)
        return
    show_changes(changes)
    if needs_plugin(changes):
        show_next("sidecypher restart", "rebuilds the plugin and restarts Neo4j")
    else:
        show_next("sidecypher call NAME ARGUMENTS", "calls what was loaded")


def reload_all(settings: Settings) -> list[Change]:
    """Reload the procedures in every sidecar of an installation.

    Returns:
        Rows of `sidecypher.reload`, each change once even if several sidecars reported it.

    Raises:
        NotRunning: There is no sidecar.
        ReloadFailed: A sidecar did not reload.
    """
    run_folder = run_folder_of(settings)
    sidecars = running_sidecars(run_folder)
    if not sidecars:
        raise NotRunning("No sidecar is running")
    with working("Loading procedures"):
        changes = [change for each in sidecars for change in _reload_one(run_folder, each)]
    return list({tuple(change.values()): change for change in changes}.values())


def _reload_one(run_folder: Path, sidecar: Announcement) -> list[Change]:
    path = "/v1/call/sidecypher.reload"
    try:
        answer = send_request(
            run_folder, sidecar, "POST", path, seconds=_RELOAD_SECONDS, content=[]
        )
        answer.raise_for_status()
    except (OSError, httpx.HTTPError) as error:
        raise ReloadFailed(
            f"The sidecar of process {sidecar.pid} did not load its procedures again: "
            f"{type(error).__name__}"
        ) from None
    rows: list[Change] = answer.json()["rows"]
    return rows


def show_changes(changes: Sequence[Change]) -> None:
    """Print the changes by a reload."""
    if not changes:
        show_text("No procedure has changed.")
    for change in changes:
        name, detail = change["name"] or change["module"], change["detail"]
        show_text(f"  {name}: {change['state']}")
        if detail:
            show_text(f"    {detail}")


def needs_plugin(changes: Sequence[Change]) -> bool:
    """Return whether Neo4j needs a new plugin; new code with the same signature needs none."""
    return any(change["state"] in _NEEDS_PLUGIN for change in changes)
