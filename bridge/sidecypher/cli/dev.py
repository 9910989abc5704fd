"""`reload` and `dev`: changed procedures, while Neo4j and the sidecars go on."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import httpx
from watchfiles import watch

from sidecypher.cli.lifecycle import bring_up, read_status
from sidecypher.cli.options import AsJson, Check, Config, Home, Procedures
from sidecypher.cli.output import notes, results, show_json
from sidecypher.errors import ReloadFailed, SettingsError, SidecypherError
from sidecypher.rendezvous import Announcement, running_sidecars
from sidecypher.runtime import NotRunning, read_state, stop
from sidecypher.settings import Settings, load_settings

_PLAIN: Final[dict[str, Any]] = {"markup": False, "highlight": False, "soft_wrap": True}
_RELOAD_SECONDS: Final = 130.0
"""A little more than the procedure itself may take."""

_WATCH_MILLISECONDS: Final = 200
"""How often the watcher looks up; the first time tells that it has begun."""

_NEEDS_PLUGIN: Final = frozenset({"added", "signature changed", "removed"})


def reload(home: Home = None, config: Config = None, as_json: AsJson = False) -> None:
    """Load changed procedures in every sidecar that runs."""
    changes = reload_all(load_settings({"home": home}, config=config))
    if as_json:
        show_json(changes)
    else:
        _show(changes, again="`sidecypher down` and `sidecypher up`")


def dev(
    home: Home = None,
    procedures: Procedures = None,
    config: Config = None,
    check: Check = True,
) -> None:
    """Bring up Neo4j and the sidecar, and load procedures again whenever a file is saved."""
    settings = load_settings({"home": home, "procedures": procedures}, config=config)
    _check_folders(settings.procedures)
    running = read_state(settings.home)
    is_ours = running is None or not running.alive
    again = "Ctrl-C and `sidecypher dev`" if is_ours else "`sidecypher down` and `sidecypher dev`"
    try:
        bring_up(settings, check=check)
        for saved in _saves(settings.procedures):
            _reload_and_tell(settings, saved, again)
            if saved is None:
                _tell_where(settings)
    except KeyboardInterrupt:
        # The way to end it: no error, and nothing of ours stays.
        pass
    finally:
        if is_ours:
            notes.print("\nStopping Neo4j and the sidecar")
            stop(settings.home)


def reload_all(settings: Settings) -> list[dict[str, Any]]:
    """Ask every sidecar of an installation to load its procedures again.

    Returns:
        What `sidecypher.reload` yields, each change once, whichever sidecars told it.

    Raises:
        NotRunning: There is no sidecar.
        ReloadFailed: One of them did not do it.
    """
    run_folder = settings.home / "run"
    sidecars = running_sidecars(run_folder)
    if not sidecars:
        raise NotRunning("There is no sidecar that could load procedures")
    token = (run_folder / "http-token").read_text(encoding="utf-8").strip()
    changes = [change for each in sidecars for change in _reload_one(each, token)]
    return list({tuple(change.values()): change for change in changes}.values())


def _reload_one(sidecar: Announcement, token: str) -> list[dict[str, Any]]:
    try:
        answer = httpx.post(
            f"http://127.0.0.1:{sidecar.http}/v1/call/sidecypher.reload",
            json=[],
            headers={"Authorization": f"Bearer {token}"},
            timeout=_RELOAD_SECONDS,
            # No proxy reaches what listens on this machine only.
            trust_env=False,
        )
        answer.raise_for_status()
    except httpx.HTTPError as error:
        raise ReloadFailed(
            f"The sidecar of process {sidecar.pid} did not load its procedures again: "
            f"{type(error).__name__}"
        ) from None
    rows: list[dict[str, Any]] = answer.json()["rows"]
    return rows


def _check_folders(folders: Iterable[Path]) -> None:
    if not folders:
        raise SettingsError(
            "There is no folder of procedures to watch",
            hint="Name one with `--procedures` or SIDECYPHER_PROCEDURES.",
        )
    for folder in folders:
        if not folder.is_dir():
            raise SettingsError(
                f"There is no folder `{folder.name}` of procedures to watch",
                hint="Make it, or correct `--procedures` or SIDECYPHER_PROCEDURES.",
            )


def _saves(folders: tuple[Path, ...]) -> Iterator[str | None]:
    """Yield the names of saved files, for a person; first None, when watching has begun."""
    begun = False
    for changes in watch(*folders, rust_timeout=_WATCH_MILLISECONDS, yield_on_timeout=True):
        if not begun:
            yield None
            begun = True
        if changes:
            yield ", ".join(sorted({Path(path).name for _, path in changes}))


def _tell_where(settings: Settings) -> None:
    facts = read_status(settings)
    for name in ("browser", "bolt", "user", "password_file"):
        results.print(f"{name:14} {facts[name]}", **_PLAIN)
    watched = ", ".join(folder.name for folder in settings.procedures)
    results.print(f"Watching {watched}; Ctrl-C ends it.", **_PLAIN)


def _reload_and_tell(settings: Settings, saved: str | None, again: str) -> None:
    if saved is not None:
        results.print(f"{datetime.now().astimezone():%H:%M:%S} saved {saved}", **_PLAIN)
    try:
        changes = reload_all(settings)
    except SidecypherError as error:
        notes.print(f"{error.message}. It loads what is saved when it starts.", **_PLAIN)
        return
    if saved is not None or changes:
        _show(changes, again)


def _show(changes: list[dict[str, Any]], again: str) -> None:
    if not changes:
        results.print("No procedure has changed.")
    for change in changes:
        name, detail = change["name"] or change["module"], change["detail"]
        results.print(f"  {name}: {change['state']}", **_PLAIN)
        if detail:
            results.print(f"    {detail}", **_PLAIN)
    if any(change["state"] in _NEEDS_PLUGIN for change in changes):
        results.print(f"  {again} rebuild the plugin and restart Neo4j.", **_PLAIN)
