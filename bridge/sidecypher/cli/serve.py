"""`sidecypher serve`: the sidecar alone."""

from typing import Annotated

import typer

from sidecypher.app import serve as run_sidecar
from sidecypher.cli.debug import debug_settings, wait_for_debugger
from sidecypher.cli.options import Config, Home, Procedures
from sidecypher.host.settings import load_settings


def serve(
    home: Home = None,
    procedures: Procedures = None,
    config: Config = None,
    port: Annotated[
        int | None, typer.Option(help="Listen for the plugin on this port; 0 picks a free one.")
    ] = None,
    listen: Annotated[
        str | None,
        typer.Option(help="Listen on `tls://HOST:PORT` for a Neo4j on another machine."),
    ] = None,
    http_port: Annotated[
        int | None,
        typer.Option(help="Serve HTTP on this port; 0 picks a free one."),
    ] = None,
    http_host: Annotated[
        str | None,
        typer.Option(help="Serve HTTP on this IP address, too, with a token."),
    ] = None,
    debug_port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Wait for a debugger on this port.")
    ] = None,
    log_level: Annotated[
        str | None, typer.Option(help="Set the level: `DEBUG`, `INFO`, `WARNING` or `ERROR`.")
    ] = None,
    log_format: Annotated[
        str | None, typer.Option(help="Write logs as `json` or `console`.")
    ] = None,
) -> None:
    """Run the sidecar alone in the foreground.

    It ends at SIGTERM or SIGINT; a second signal ends it at once. Logs go to standard error. `up`
    starts this for you.

    ```sh
    sidecypher serve --port 7001 --http-port 7002 --log-format console
    ```
    """
    settings = load_settings(
        {
            "home": home,
            "procedures": procedures,
            "port": port,
            "listen": listen,
            "http_port": http_port,
            "http_host": http_host,
            "log_level": log_level,
            "log_format": log_format,
        },
        config=config,
    )
    if debug_port is not None:
        wait_for_debugger(debug_port)
        settings = debug_settings(settings)
    run_sidecar(settings)
