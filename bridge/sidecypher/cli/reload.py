"""`sidecypher reload`: changed procedures, while Neo4j and the sidecars go on."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import httpx

from sidecypher.cli.options import AsJson, Config, Home
from sidecypher.cli.output import show_json, show_next, show_text
from sidecypher.cli.sidecars import ask, run_folder_of
from sidecypher.errors import ReloadFailed
from sidecypher.host.rendezvous import Announcement, running_sidecars
from sidecypher.host.settings import Settings, load_settings
from sidecypher.runtime.errors import NotRunning

Change = dict[str, Any]
"""A row of the procedure `sidecypher.reload`."""

_RELOAD_SECONDS: Final = 130.0
"""A little more than the procedure itself may take."""

_NEEDS_PLUGIN: Final = frozenset({"added", "signature changed", "removed"})


def reload(home: Home = None, config: Config = None, as_json: AsJson = False) -> None:
    """Load changed procedures in every running sidecar.

    Running calls finish on the code they began with. Prints what
    [`sidecypher.reload`](sidecypher.md#sidecypherreload) returns.

    ```sh
    sidecypher reload
    ```
    """
    changes = reload_all(load_settings({"home": home}, config=config))
    if as_json:
        show_json(changes)
        return
    show_changes(changes)
    if needs_plugin(changes):
        show_next("sidecypher restart", "rebuilds the plugin and restarts Neo4j")
    else:
        show_next("sidecypher call NAME ARGUMENTS", "calls what was loaded")


def reload_all(settings: Settings) -> list[Change]:
    """Ask every sidecar of an installation to load its procedures again.

    Returns:
        What `sidecypher.reload` yields, each change once, whichever sidecars told it.

    Raises:
        NotRunning: There is no sidecar.
        ReloadFailed: One of them did not do it.
    """
    run_folder = run_folder_of(settings)
    sidecars = running_sidecars(run_folder)
    if not sidecars:
        raise NotRunning("There is no sidecar that could load procedures")
    changes = [change for each in sidecars for change in _reload_one(run_folder, each)]
    return list({tuple(change.values()): change for change in changes}.values())


def _reload_one(run_folder: Path, sidecar: Announcement) -> list[Change]:
    path = "/v1/call/sidecypher.reload"
    try:
        answer = ask(run_folder, sidecar, "POST", path, seconds=_RELOAD_SECONDS, content=[])
        answer.raise_for_status()
    except (OSError, httpx.HTTPError) as error:
        raise ReloadFailed(
            f"The sidecar of process {sidecar.pid} did not load its procedures again: "
            f"{type(error).__name__}"
        ) from None
    rows: list[Change] = answer.json()["rows"]
    return rows


def show_changes(changes: Sequence[Change]) -> None:
    """Print what a reload has changed."""
    if not changes:
        show_text("No procedure has changed.")
    for change in changes:
        name, detail = change["name"] or change["module"], change["detail"]
        show_text(f"  {name}: {change['state']}")
        if detail:
            show_text(f"    {detail}")


def needs_plugin(changes: Sequence[Change]) -> bool:
    """Tell whether Neo4j must be told of them: a body alone is the sidecar's own."""
    return any(change["state"] in _NEEDS_PLUGIN for change in changes)
