"""`status`: inspect one installation."""

from pathlib import Path
from typing import Any

import typer

from sidecypher.cli.options import AsJson, Config, Home
from sidecypher.cli.output import notes, show_facts, show_json, show_next, show_text
from sidecypher.cli.sidecars import is_ready
from sidecypher.host.address import USER, Address, bolt_address, read_ports
from sidecypher.host.rendezvous import running_sidecars
from sidecypher.host.settings import Settings, load_own_settings, load_settings
from sidecypher.runtime.errors import NotRunning
from sidecypher.runtime.process.state import read_state


def status(
    home: Home = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Show what is running and where.

    The exit code is 1 if Neo4j or the sidecar is not running. The JSON has these members; `up
    --json` prints the same:

    | member | meaning |
    |---|---|
    | `running` | whether the supervisor and all its processes are running |
    | `ready` | whether `/readyz` of every sidecar reports ready |
    | `bolt` | address for drivers, null before the first start |
    | `http` | address of Neo4j's HTTP interface |
    | `browser` | address of Neo4j Browser |
    | `user` | user name, always `neo4j` |
    | `password_file` | file that holds the password |
    | `sidecar` | address of `/livez` and `/metrics` of the first sidecar, null if none runs |
    | `console` | address of the [console](console.md) of that sidecar, null if none runs |
    | `sidecars` | these addresses for all running sidecars |
    | `procedures` | number of procedures that the sidecar has loaded, null if it does not run |
    | `left_out` | modules that failed, and procedures that are not offered, with the reason |
    | `pid` | process id of the supervisor, null if it does not run |
    | `home` | the home |
    | `processes` | by name (`neo4j`, `sidecar`, `sidecar-2`): `pid`, `status`, `restarts` |

    ```sh
    sidecypher status --json
    ```
    """
    settings = load_own_settings({"home": home}, config)
    is_up = show_status(settings, as_json=as_json)
    if not as_json:
        if is_up:
            show_next("sidecypher logs --follow", "shows what they write")
        else:
            show_next("sidecypher up", "starts what does not run")
    raise typer.Exit(0 if is_up else 1)


def show_status(settings: Settings, *, as_json: bool) -> bool:
    """Print the state of an installation; return whether all of it is running."""
    facts = read_status(settings)
    if as_json:
        show_json(facts)
    else:
        shown = {name: value for name, value in facts.items() if value not in (None, {})}
        processes = shown.pop("processes", {})
        alive = [each for each in processes.values() if each["status"] != "not running"]
        if not (facts["pid"] or facts["sidecars"] or alive):
            show_text("Not running.")
            return False
        show_facts(shown)
        show_facts({n: f"{each['status']}, pid {each['pid']}" for n, each in processes.items()})
    return bool(facts["running"])


def read_status(settings: Settings) -> dict[str, Any]:
    """Return the facts that `status --json` prints."""
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


def server_address(home: Path | None, config: Path | None, database: str | None) -> Address:
    """Return URI and authentication of the server that commands with these options use.

    Raises:
        NotRunning: No server is named, and the embedded one is not running.
    """
    settings = load_settings({"home": home, "neo4j_database": database}, config=config)
    state = read_state(settings.home)
    # Sidecars and services may just be restarting.
    is_running = (
        state is not None
        and state.alive
        and any(each.name == "neo4j" and each.alive for each in state.processes)
    )
    if settings.neo4j_uri and is_running:
        notes.print("Using the Neo4j that `neo4j_uri` names, not the one of this home.")
    found = bolt_address(settings) if settings.neo4j_uri or is_running else None
    if found is None:
        raise NotRunning("There is no Neo4j to connect to")
    return found
