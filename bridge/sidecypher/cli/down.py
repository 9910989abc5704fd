"""`down`: stop one installation."""

from sidecypher.cli.options import Config, Home
from sidecypher.cli.output import notes, show_next, working
from sidecypher.host.settings import load_own_settings
from sidecypher.runtime.process.stop import stop


def down(home: Home = None, config: Config = None) -> None:
    """Stop Neo4j and the sidecar.

    Also stops processes left over from a killed supervisor. Succeeds if nothing is running.

    ```sh
    sidecypher down
    ```
    """
    settings = load_own_settings({"home": home}, config)
    with working("Stopping Neo4j and the sidecar"):
        stopped = stop(settings.home)
    if stopped:
        notes.print("Stopped.")
        show_next("sidecypher up", "starts it again, with the graph as it was")
    else:
        notes.print("Nothing was running.")
        show_next("sidecypher up", "starts Neo4j and the sidecar")
