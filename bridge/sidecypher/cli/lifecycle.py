"""`up`, `down`, `status`: the life of one installation."""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

import typer

from sidecypher.cli.options import AsJson, Check, Config, Home, Lane, Procedures
from sidecypher.cli.output import notes, show_facts, show_json, show_next, show_text
from sidecypher.cli.prepare import install_plugin, load_procedures
from sidecypher.cli.sidecars import is_ready
from sidecypher.host import address
from sidecypher.host.address import USER, read_ports
from sidecypher.host.credentials import write_private
from sidecypher.host.rendezvous import running_sidecars
from sidecypher.host.settings import Settings, load_settings
from sidecypher.runtime.errors import AlreadyRunning, NotRunning
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
    settings = load_settings(flags, config=config)
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
    stop(load_settings({"home": home, "lane": lane}, config=config).home)
    up(home, procedures, config, as_json, check, lane)


def bring_up(
    settings: Settings,
    *,
    check: bool = True,
    environ: Mapping[str, str] = os.environ,
    options: Sequence[str] = (),
) -> bool:
    """Start what `up` starts, unless it runs already.

    Args:
        settings: The installation.
        check: Whether to try a new plugin in a throw-away Neo4j first.
        environ: Environment of the processes.
        options: Those of `supervise` that the demo wants.

    Returns:
        Whether it was started here; only then is it the caller's to stop.

    Raises:
        SidecypherError: Something needed is missing, or a process does not start.
    """
    running = read_state(settings.home)
    if running is not None and running.alive and running.status != "ready":
        raise AlreadyRunning("Another `up` or `down` is at work on this home", hint="Wait for it.")
    if running is not None and running.alive:
        notes.print("Already up. `sidecypher reload` loads changed procedures.")
        return False
    install_plugin(settings, load_procedures(settings), check=check)
    notes.print("Starting Neo4j and the sidecar")
    command = [sys.executable, "-P", "-m", "sidecypher", "supervise", *options]
    launch_supervisor(settings.home, command, _environment(settings, environ))
    return True


def _environment(settings: Settings, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment in which the processes have these settings, whatever a file says then.

    A password that came from a file reaches them by a file of the run folder: other programs can
    see the environment of a process.
    """
    password, file = settings.neo4j_password, settings.home / "run" / "server-password"
    given = {**environ, **settings.environment()}
    if password is None or any(environ.get(name) for name in _PASSWORD_VARIABLES):
        file.unlink(missing_ok=True)
        return given
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Readers strip one final newline; it must not be the password's.
    write_private(file, password.get_secret_value().encode() + b"\n")
    return {**given, "SIDECYPHER_NEO4J_PASSWORD_FILE": str(file)}


def down(home: Home = None, config: Config = None) -> None:
    """Stop Neo4j and the sidecar.

    Also stops processes left over from a killed supervisor. Succeeds if nothing is running.

    ```sh
    sidecypher down
    ```
    """
    settings = load_settings({"home": home}, config=config)
    if stop(settings.home):
        notes.print("Stopped.")
        show_next("sidecypher up", "starts it again, with the graph as it was")
    else:
        notes.print("Nothing was running.")
        show_next("sidecypher up", "starts Neo4j and the sidecar")


def status(
    home: Home = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Show what is running and where.

    The exit code is 1 when Neo4j or the sidecar does not run. The JSON has these members; `up
    --json` prints the same:

    | member | meaning |
    |---|---|
    | `running` | whether the supervisor and all its processes run |
    | `ready` | whether the `/readyz` of every sidecar says yes |
    | `bolt` | address for drivers, null before the first start |
    | `http` | address of Neo4j's HTTP interface |
    | `browser` | address of Neo4j Browser |
    | `user` | user name, always `neo4j` |
    | `password_file` | file that holds the password |
    | `sidecar` | address of `/livez` and `/metrics` of the first sidecar, null when none runs |
    | `console` | address of that sidecar's page for people, null when none runs |
    | `sidecars` | such addresses of all sidecars that run |
    | `procedures` | how many procedures the sidecar has loaded, null when it does not run |
    | `left_out` | what could not be loaded, or is decorated but not offered, with the reason |
    | `pid` | process id of the supervisor, null when it does not run |
    | `home` | the home |
    | `processes` | by name (`neo4j`, `sidecar`, `sidecar-2`): `pid`, `status`, `restarts` |

    ```sh
    sidecypher status --json
    ```
    """
    settings = load_settings({"home": home}, config=config)
    is_up = show_status(settings, as_json=as_json)
    if not as_json:
        if is_up:
            show_next("sidecypher logs --follow", "shows what they write")
        else:
            show_next("sidecypher up", "starts what does not run")
    raise typer.Exit(0 if is_up else 1)


def show_status(settings: Settings, *, as_json: bool) -> bool:
    """Print the state of an installation and return whether all of it runs."""
    facts = read_status(settings)
    if as_json:
        show_json(facts)
    else:
        told = {name: value for name, value in facts.items() if value not in (None, {})}
        processes = told.pop("processes", {})
        alive = [each for each in processes.values() if each["status"] != "not running"]
        if not (facts["pid"] or facts["sidecars"] or alive):
            show_text("Not running.")
            return False
        show_facts(told)
        show_facts({n: f"{each['status']}, pid {each['pid']}" for n, each in processes.items()})
    return bool(facts["running"])


def read_status(settings: Settings) -> dict[str, Any]:
    """Return what `status --json` prints."""
    state = read_state(settings.home)
    ports = read_ports(settings.home / "ports.json")
    sidecars = running_sidecars(settings.home / "run")
    first = sidecars[0] if sidecars else None
    running = state is not None and state.running
    return {
        "running": running,
        "ready": running and bool(sidecars) and all(is_ready(each) for each in sidecars),
        "bolt": f"bolt://127.0.0.1:{ports.bolt}" if ports.bolt else None,
        "http": f"http://127.0.0.1:{ports.http}" if ports.http else None,
        "browser": f"http://127.0.0.1:{ports.http}/browser/" if ports.http else None,
        "user": USER,
        "password_file": str(settings.home / "neo4j-password"),
        "sidecar": f"http://127.0.0.1:{first.http}" if first else None,
        "console": f"http://127.0.0.1:{first.http}/" if first else None,
        "sidecars": [f"http://127.0.0.1:{each.http}" for each in sidecars],
        "procedures": first.procedures if first else None,
        "left_out": first.left_out if first else {},
        "pid": state.pid if state is not None and state.alive else None,
        "home": str(settings.home),
        "processes": {
            each.name: {
                "pid": each.pid,
                "status": each.status if each.alive else "not running",
                "restarts": each.restarts,
            }
            for each in (state.processes if state is not None else ())
        },
    }


def bolt_address(settings: Settings) -> address.Address:
    """Return URI and authentication of the server that commands talk to.

    Raises:
        NotRunning: No server is named and the embedded one does not run.
    """
    state = read_state(settings.home)
    is_there = settings.neo4j_uri or (state is not None and state.running)
    found = address.bolt_address(settings) if is_there else None
    if found is None:
        raise NotRunning("There is no Neo4j to talk to")
    return found
