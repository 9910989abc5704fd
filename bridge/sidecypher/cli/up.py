"""`up` and `restart`: start Neo4j and the sidecars of one installation."""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Final

from sidecypher.cli.options import AsJson, Check, Config, Home, Lane, Procedures
from sidecypher.cli.output import notes, show_next, working
from sidecypher.cli.prepare import install_plugin, load_procedures
from sidecypher.cli.status import show_status
from sidecypher.host.credentials import write_private
from sidecypher.host.settings import Settings, load_own_settings, without_neo4j_variables
from sidecypher.runtime.errors import AlreadyRunning
from sidecypher.runtime.process.detached import launch_supervisor
from sidecypher.runtime.process.state import read_state
from sidecypher.runtime.process.stop import stop

_PASSWORD_VARIABLES: Final = ("SIDECYPHER_NEO4J_PASSWORD", "SIDECYPHER_NEO4J_PASSWORD_FILE")


def up(
    home: Home = None,
    procedures: Procedures = None,
    config: Config = None,
    as_json: AsJson = False,
    check: Check = True,
    lane: Lane = None,
) -> None:
    """Start Neo4j and the sidecar in the background.

    Downloads missing jars, loads the procedures, and builds the plugin if the existing one is
    outdated. When Neo4j and the sidecar answer, it prints what `status` prints. Changes nothing if
    the installation is already running.

    ```sh
    sidecypher up
    sidecypher up --home /tmp/second --procedures my --json
    ```
    """
    flags = {"home": home, "procedures": procedures, "lane": lane}
    settings = load_own_settings(flags, config)
    bring_up(settings, check=check)
    show_status(settings, as_json=as_json)
    if not as_json:
        show_next("sidecypher procedures", "lists what can be called, with samples")


def restart(
    home: Home = None,
    procedures: Procedures = None,
    config: Config = None,
    as_json: AsJson = False,
    check: Check = True,
    lane: Lane = None,
) -> None:
    """Stop and start Neo4j and the sidecar.

    Same as `down`, then `up`. The plugin is built again if procedures have changed. Starts
    everything if nothing is running.

    ```sh
    sidecypher restart
    ```
    """
    flags = {"home": home, "lane": lane}
    settings = load_own_settings(flags, config)
    with working("Stopping Neo4j and the sidecar"):
        stop(settings.home)
    up(home, procedures, config, as_json, check, lane)


def bring_up(
    settings: Settings,
    *,
    check: bool = True,
    environ: Mapping[str, str] = os.environ,
    options: Sequence[str] = (),
) -> bool:
    """Start Neo4j and the sidecars, unless they are already running.

    Args:
        settings: The installation.
        check: Whether to try a new plugin in a temporary Neo4j first.
        environ: Environment of the processes.
        options: Options of `supervise`, for the demo.

    Returns:
        Whether this call started them; only then should the caller stop them.

    Raises:
        SidecypherError: Something needed is missing, or a process does not start.
    """
    running = read_state(settings.home)
    if running is not None and running.alive and running.status != "ready":
        raise AlreadyRunning(
            "Another `up` or `down` is using this home", hint="Wait until it ends."
        )
    if running is not None and running.alive:
        notes.print(
            "Already up. `sidecypher reload` loads changed procedures; `sidecypher restart` takes"
            " other options and settings."
        )
        return False
    install_plugin(settings, load_procedures(settings), check=check)
    command = [sys.executable, "-P", "-m", "sidecypher", "supervise", *options]
    with working("Starting Neo4j and the sidecar", kept=True):
        launch_supervisor(settings.home, command, _environment(settings, environ))
    return True


def _environment(settings: Settings, environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment that passes these settings to the processes, without a settings file.

    A password from a file is passed in a file of the run folder, because other programs can
    see the environment of a process.
    """
    password, file = settings.neo4j_password, settings.home / "run" / "server-password"
    # Sidecars use the Neo4j that is started next to them.
    given = {**without_neo4j_variables(environ), **settings.environment()}
    if not password or any(environ.get(name) for name in _PASSWORD_VARIABLES):
        file.unlink(missing_ok=True)
        return given
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Readers strip one final newline, which must not be part of the password.
    write_private(file, password.get_secret_value().encode() + b"\n")
    return {**given, "SIDECYPHER_NEO4J_PASSWORD_FILE": str(file)}
