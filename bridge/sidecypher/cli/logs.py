"""`sidecypher logs`."""

import heapq
import re
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import sleep
from typing import Annotated, Final

import typer

from sidecypher.cli.errors import UnknownProcess
from sidecypher.cli.options import Config, Home
from sidecypher.cli.output import notes, show_text
from sidecypher.host.settings import load_own_settings

_POLL_SECONDS: Final = 0.2
_STAMP: Final = re.compile(r'(?:^|"timestamp": ?")([\d-]{10})[ T]([\d:.]+)')
"""Date and time in UTC, in the JSON of the sidecar or at the start of Neo4j's lines."""


def logs(
    home: Home = None,
    config: Config = None,
    process: Annotated[
        list[str] | None,
        typer.Option("--process", help="Show only this process, such as `neo4j`; repeatable."),
    ] = None,
    call: Annotated[
        str | None, typer.Option("--call", help="Show only lines about the call with this id.")
    ] = None,
    lines: Annotated[
        int, typer.Option("--lines", "-n", min=0, help="Show this many of the last lines.")
    ] = 100,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Show new lines until Ctrl-C.")
    ] = False,
) -> None:
    """Show the log lines of all processes.

    Prints the last lines of all processes in order of time, each after the name of its process.
    Errors of calls name the id for `--call`. The
    [files](telemetry.md#logs) are in `logs` of the home.

    ```sh
    sidecypher logs --follow
    sidecypher logs --process neo4j --lines 20
    ```
    """
    folder = load_own_settings({"home": home}, config).log_dir
    offsets: dict[Path, int] = {}
    about = re.compile(rf"(?<![\w-]){re.escape(call)}(?![\w-])") if call else None

    def new_lines() -> Iterator[str]:
        paths = sorted(path for path in folder.glob("*.log") if not process or path.stem in process)
        merged = heapq.merge(*(_unread(path, offsets) for path in paths), key=lambda each: each[0])
        for _, path, text in merged:
            if about is None or about.search(text):
                yield f"{path.stem:<10} {text}"

    last = deque(new_lines(), maxlen=lines)
    for line in last:
        show_text(line)
    if not offsets and not follow:
        named = f" of {' or '.join(f'`{name}`' for name in process)}" if process else ""
        raise UnknownProcess(
            f"This home has no log{named}",
            hint="`sidecypher up` starts what writes logs; `--home` names another home.",
        )
    if call and not last and not follow:
        notes.print(f"No line has the call id `{call}`.", markup=False)
    while follow:
        sys.stdout.flush()
        sleep(_POLL_SECONDS)
        for line in new_lines():
            show_text(line)


def _unread(path: Path, offsets: dict[Path, int]) -> Iterator[tuple[str, Path, str]]:
    """Yield time, file and text of each complete line since the previous read."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        offset = offsets.get(path, 0)
        # A shorter file was copied and truncated by a program that rotates logs.
        offsets[path] = file.seek(offset if offset <= file.seek(0, 2) else 0)
        time = ""
        for line in file:
            if not line.endswith(b"\n"):
                return
            offsets[path] += len(line)
            text = line[:-1].decode(errors="replace")
            stamp = _STAMP.search(text)
            time = "T".join(stamp.groups()) if stamp else time
            yield time, path, text
