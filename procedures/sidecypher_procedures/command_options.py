"""Options that several commands share."""

from typing import Annotated

import typer

Svg = Annotated[
    typer.FileTextWrite | None,
    typer.Option("--svg", help="Write a picture to this SVG file.", encoding="utf-8", lazy=True),
]
