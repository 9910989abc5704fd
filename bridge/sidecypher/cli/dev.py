"""`sidecypher dev`: the next call runs the code that was saved."""

import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Final

import typer
from watchfiles import watch
from watchfiles._rust_notify import WatchfilesRustInternalError

from sidecypher.cli.debug import DEBUG_PORT, DEBUG_VARIABLES, check_debugger, debug_settings
from sidecypher.cli.errors import StorageFailed
from sidecypher.cli.options import Check, Config, Home, Lane, Procedures
from sidecypher.cli.output import notes, show_error, show_facts, show_next, show_text, working
from sidecypher.cli.prepare import install_plugin
from sidecypher.cli.reload import needs_plugin, reload_all, show_changes
from sidecypher.cli.status import read_status
from sidecypher.cli.up import bring_up
from sidecypher.errors import SettingsError, SidecypherError
from sidecypher.host.settings import Settings, load_own_settings
from sidecypher.loading.loader import Loaded, load
from sidecypher.runtime.errors import AlreadyRunning
from sidecypher.runtime.process.restart import restart_process
from sidecypher.runtime.process.stop import stop
from sidecypher.sdk.registry import Procedure
from sidecypher.sdk.samples import sample_call

_WATCH_MILLISECONDS: Final = 200
"""How often the watcher reports; its first report means that it has started."""

_SHOWN_FACTS: Final = ("browser", "bolt", "user", "password_file", "console")


def dev(
    home: Home = None,
    procedures: Procedures = None,
    config: Config = None,
    check: Check = True,
    lane: Lane = None,
    debug: Annotated[
        bool, typer.Option("--debug", help="Wait for a debugger, and lift all timeouts.")
    ] = False,
    debug_port: Annotated[
        int, typer.Option(min=1, max=65535, help="Wait for the debugger on this port.")
    ] = DEBUG_PORT,
) -> None:
    """Run Neo4j and reload procedures on each save.

    Starts the same processes as `up`. Prints the addresses of Neo4j Browser, Bolt and the console,
    the user, the paths of password file and logs, and a sample call. When you save a file, it
    prints the changes. After a new procedure or a changed signature it builds the plugin and
    restarts Neo4j, which takes some seconds. Ctrl-C stops everything that it started.

    If the home is already running, `dev` uses it and leaves it running. Its sidecars must load the
    same folders, and a changed signature is only reported.

    With `--debug` an editor can [connect to the sidecar](debugging.md) at any time. A call that
    stands at a breakpoint has no timeout.

    ```sh
    sidecypher dev --procedures my
    ```
    """
    flags = {"home": home, "procedures": procedures, "lane": lane}
    settings = load_own_settings(flags, config)
    _check_folders(settings.procedures)
    options: tuple[str, ...] = ()
    environ = {**os.environ}
    if debug:
        check_debugger()
        settings, options = debug_settings(settings), ("--debug-port", str(debug_port))
        environ |= DEBUG_VARIABLES
    is_ours = False
    try:
        is_ours = bring_up(settings, check=check, environ=environ, options=options)
        if debug and not is_ours:
            raise AlreadyRunning(
                "This home is already running, so no debugger can be started in it",
                hint="Stop it first: `sidecypher down`.",
            )
        session = _Session(settings, is_ours=is_ours, check=check)
        for saved in _saves(settings.procedures):
            session.load(saved)
            if saved is None:
                session.show_addresses({"debugger": f"127.0.0.1:{debug_port}"} if debug else {})
    except KeyboardInterrupt:
        # Ctrl-C is the normal end of the command.
        pass
    finally:
        if is_ours:
            notes.print()
            with working("Stopping Neo4j and the sidecar", kept=True):
                stop(settings.home)
            show_next("sidecypher test", "runs the tests, without a server")


def _check_folders(folders: Iterable[Path]) -> None:
    if not folders:
        raise SettingsError(
            "There is no folder of procedures to watch",
            hint="Name one with `--procedures` or SIDECYPHER_PROCEDURES; or write a project with "
            "`sidecypher init NAME`, and run it in there.",
        )
    for folder in folders:
        if not folder.is_dir():
            raise SettingsError(
                f"There is no folder `{folder.name}` of procedures to watch",
                hint="Make it, or correct `--procedures` or SIDECYPHER_PROCEDURES.",
            )


def _saves(folders: tuple[Path, ...]) -> Iterator[str | None]:
    """Yield the names of saved files as text; first yield None when watching has started."""
    started = False
    try:
        for changes in watch(*folders, rust_timeout=_WATCH_MILLISECONDS, yield_on_timeout=True):
            if not started:
                yield None
                started = True
            if changes:
                yield ", ".join(sorted({Path(path).name for _, path in changes}))
    except WatchfilesRustInternalError:
        raise StorageFailed(
            "The folders of procedures cannot be watched: the system has nothing left for it",
            hint="Allow more: `sysctl fs.inotify.max_user_instances=1024 "
            "fs.inotify.max_user_watches=1048576` as root.",
        ) from None


class _Session:
    """The installation that `dev` keeps up to date."""

    def __init__(self, settings: Settings, *, is_ours: bool, check: bool) -> None:
        self._settings = settings
        self._is_ours = is_ours
        self._check = check
        self._loaded: Loaded = load(settings.procedures)
        self._is_stale = False
        self._needs_restart = False

    def load(self, saved: str | None) -> None:
        """Load saved files in the sidecars, and renew the plugin if needed."""
        if saved is not None:
            show_text(f"{datetime.now().astimezone():%H:%M:%S} saved {saved}")
        try:
            changes = reload_all(self._settings)
        except SidecypherError as error:
            notes.print(f"{error.message}. It loads saved files when it starts.", markup=False)
            if self._is_ours:
                # No sidecar reports the changes, so compare the plugin itself.
                self._renew_plugin(is_stale=True)
            return
        if saved is not None or changes:
            show_changes(changes)
        self._renew_plugin(is_stale=needs_plugin(changes))

    def _renew_plugin(self, *, is_stale: bool) -> None:
        # As in the sidecars, a module that cannot be loaded keeps its previous procedures.
        self._loaded = load(self._settings.procedures, self._loaded)
        self._is_stale |= is_stale
        if not self._is_stale:
            return
        if not self._is_ours:
            show_text("  `sidecypher down` and `sidecypher dev` rebuild the plugin.")
            self._is_stale = False
            return
        try:
            if install_plugin(self._settings, self._loaded, check=self._check):
                # Kept after a failed restart: the plugin fits then, but Neo4j runs an older one.
                self._needs_restart = True
            if self._needs_restart:
                with working("Restarting Neo4j with it", kept=True):
                    restart_process(self._settings.home, "neo4j")
                self._needs_restart = False
        except SidecypherError as error:
            show_error(error)
            return
        self._is_stale = False
        show_text("  Neo4j offers the changes.")

    def show_addresses(self, more: Mapping[str, str]) -> None:
        """Print all addresses, those of `more` as well, and a sample call to paste."""
        facts = read_status(self._settings)
        show_facts({name: facts[name] for name in _SHOWN_FACTS})
        show_facts({"logs": self._settings.log_dir, **more})
        own = self._own_procedures()
        if own:
            show_facts({"sample": sample_call(own[0].entry)})
        watched = ", ".join(folder.name for folder in self._settings.procedures)
        show_text(f"Watching {watched}; Ctrl-C ends it.")
        if own:
            needed = [each.name.upper() for each in own[0].signature.parameters if not each.default]
            show_next(f"sidecypher call {' '.join([own[0].name, *needed])}", "in another terminal")

    def _own_procedures(self) -> list[Procedure]:
        folders = [self._loaded.parts.get(str(each)) for each in self._settings.procedures]
        found = [
            each for part in folders if part for unit in part.units for each in unit.procedures
        ]
        return [each for each in found if each.kind == "procedure"]
