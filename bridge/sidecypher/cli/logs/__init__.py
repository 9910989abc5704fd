"""`sidecypher logs`."""

import heapq
import json
import re
import sys
from collections import deque
from time import sleep
from typing import Annotated, Final

import typer

from sidecypher.cli.errors import UnknownProcess
from sidecypher.cli.logs.files import LogFile, log_files
from sidecypher.cli.logs.lines import Line
from sidecypher.cli.options import Config, Home
from sidecypher.cli.output import results
from sidecypher.settings import load_settings

_POLL_SECONDS: Final = 0.2


def logs(
    home: Home = None,
    config: Config = None,
    process: Annotated[
        list[str] | None,
        typer.Option("--process", help="Such as `neo4j` or `sidecar`; may be given again."),
    ] = None,
    call: Annotated[
        str | None, typer.Option("--call", help="Only lines about the call of this id.")
    ] = None,
    lines: Annotated[
        int, typer.Option("--lines", "-n", min=0, help="How many of the last lines are shown.")
    ] = 100,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with what is written, until Ctrl-C.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON object for each line.")
    ] = False,
) -> None:
    """Show what the processes of a home have written.

    The last lines of all processes are shown in the order of their times, each with the name of its
    process. Errors of calls tell the id that `--call` takes. In JSON each line has `process` and
    the members that the sidecar [wrote](operations.md#logs); of text it has `timestamp`, null where
    there is none, and `event`.

    ```sh
    sidecypher logs --follow
    sidecypher logs --process neo4j --lines 20
    sidecypher logs --json --lines 1000
    ```
    """
    settings = load_settings({"home": home}, config=config)
    files = log_files(settings.log_dir, process or ())
    if not files and not follow:
        named = f" of {' or '.join(f'`{name}`' for name in process)}" if process else ""
        raise UnknownProcess(
            f"This home has no log{named}",
            hint="`sidecypher up` starts what writes logs; `--home` names another home.",
        )
    about = re.compile(rf"(?<![\w-]){re.escape(call)}(?![\w-])") if call else None
    show = _show_json if as_json else _show
    for line in _last(files, lines, about):
        show(line)
    known = {file.path: file for file in files}
    while follow:
        sys.stdout.flush()
        sleep(_POLL_SECONDS)
        for file in log_files(settings.log_dir, process or ()):
            # A process that has begun to write since then is shown from its first line on.
            for line in known.setdefault(file.path, file).fresh():
                if about is None or about.search(line.text):
                    show(line)


def _last(files: list[LogFile], count: int, about: re.Pattern[str] | None) -> list[Line]:
    """Return the last lines of all files, in the order of their times."""
    if about is None:
        for file in files:
            file.skip_to_last(count)
    merged = heapq.merge(*(file.fresh() for file in files), key=lambda line: line.order)
    wanted = (line for line in merged if about is None or about.search(line.text))
    return list(deque(wanted, maxlen=count))


def _show(line: Line) -> None:
    results.print(line.readable(), soft_wrap=True)


def _show_json(line: Line) -> None:
    # Escaped, as half a surrogate pair cannot be written in any other way.
    sys.stdout.write(json.dumps(line.facts()) + "\n")
