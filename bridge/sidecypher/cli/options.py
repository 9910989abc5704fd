"""Options that several commands share."""

from pathlib import Path
from typing import Annotated, Literal

import typer

Home = Annotated[
    Path | None,
    typer.Option("--home", help="Folder of all state; two homes are two installations."),
]
Procedures = Annotated[
    list[Path] | None,
    typer.Option("--procedures", help="Folder of your own procedures; may be given again."),
]
Config = Annotated[Path | None, typer.Option("--config", help="TOML file of settings.")]
Lane = Annotated[
    Literal["lts", "current"] | None,
    typer.Option(
        "--lane", help="Which Neo4j runs, `lts` or `current`, see [lanes](runtime.md#lanes)."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Check = Annotated[
    bool,
    typer.Option(
        help="Whether to start a throw-away Neo4j with a new plugin before it is installed."
    ),
]
