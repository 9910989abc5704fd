"""Write docs/terminal.svg from a real run of the command line: `python tools/terminal_picture.py`.

It makes a project, starts `dev`, calls the procedure, saves another text and calls it again. It
needs what `sidecypher dev` needs, and takes a minute; what it starts it stops.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final, cast

from rich.console import Console
from rich.text import Text

_PICTURE: Final = Path(__file__).parents[1] / "docs/terminal.svg"
_SIDECYPHER: Final = (sys.executable, "-m", "sidecypher")
_FONT: Final = re.compile(r"@font-face \{[^}]*\}\s*")
_COLUMNS: Final = 78
_GREET: Final = ("call", "people.greet", "Ann")


def record(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield each command that is typed, and what it printed, in a folder that is empty."""
    environ = {
        **{
            name: each
            for name, each in os.environ.items()
            if not name.startswith(("SIDECYPHER_", "NEO4J_"))
        },
        "COLUMNS": str(_COLUMNS),
    }

    def typed(*arguments: str, cwd: Path) -> tuple[str, str]:
        done = subprocess.run(
            [*_SIDECYPHER, *arguments], cwd=cwd, env=environ, stdout=subprocess.PIPE, check=True
        )
        return " ".join(["sidecypher", *arguments]), done.stdout.decode()

    project = folder / "people"
    typed("init", "people", cwd=folder)
    with subprocess.Popen(
        [*_SIDECYPHER, "dev"],
        cwd=project,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as dev:
        output = cast("IO[str]", dev.stdout)
        try:
            # The last line alone: those before it have paths of this machine.
            [*_, watching] = _printed(output, "Watching people").splitlines(keepends=True)
            yield "sidecypher init people && cd people && sidecypher dev", watching
            yield typed(*_GREET, cwd=project)
            file = project / "people/greeting.py"
            file.write_text(file.read_text().replace("Hello", "Good day"))
            saved = _printed(output, "people.greet: changed")
            yield "sed -i 's/Hello/Good day/' people/greeting.py", saved
            yield typed(*_GREET, cwd=project)
        finally:
            dev.send_signal(signal.SIGINT)


def _printed(output: IO[str], expected: str) -> str:
    """Return the lines up to one with a text, the times of saves left out."""
    lines: list[str] = []
    while not lines or expected not in lines[-1]:
        line = output.readline()
        if not line:
            raise SystemExit(f"`dev` ended before it printed: {expected}")
        lines.append(line.split(maxsplit=1)[1] if " saved " in line else line)
    return "".join(lines)


def draw(steps: Iterator[tuple[str, str]]) -> str:
    """Return the picture, as SVG."""
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=_COLUMNS, file=nowhere, force_terminal=True)
        for command, printed in steps:
            console.print(Text.assemble(("$ ", "green"), (command, "bold")))
            console.print(Text(printed))
    drawn = console.export_svg(title="sidecypher", unique_id="sidecypher")
    # Pages ask no other host, not even for a font.
    return _FONT.sub("", drawn)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        _PICTURE.write_text(draw(record(Path(made))), encoding="utf-8")
