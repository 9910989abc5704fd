"""Options that several commands share."""

from pathlib import Path
from typing import Annotated, Literal

import typer

Home = Annotated[Path | None, typer.Option("--home", help="Use this data directory (home).")]
Procedures = Annotated[
    list[Path] | None,
    typer.Option("--procedures", help="Load procedures from this folder; repeatable."),
]
Config = Annotated[Path | None, typer.Option("--config", help="Read settings from this TOML file.")]
Database = Annotated[
    str | None,
    typer.Option("--database", help="Use this database of Neo4j, not the default one."),
]
Lane = Annotated[
    Literal["lts", "current"] | None,
    typer.Option("--lane", help="Choose the Neo4j version track, `lts` or `current`."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Check = Annotated[bool, typer.Option(help="Try a new plugin in a temporary Neo4j first.")]
