"""Programs that are run to record their calls."""

import json
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import msgspec

from sidecypher_procedures.code.errors import NotTraced, UnknownProgram
from sidecypher_procedures.code.trace import recorder
from sidecypher_procedures.code.trace.recorder import Kind


@dataclass(frozen=True, slots=True)
class Recording:
    """The calls between the functions of some files.

    Attributes:
        places: The functions, classes and modules that ran or called: the file, the first line,
            and the name in the file, such as ``Cart.add``; "" for the file itself.
        ran: The indexes of those that ran.
        calls: The indexes of caller and callee, the line of the call, and how it is made.
        is_cut: Whether the program has ended the recording itself, so that calls are missing.
    """

    places: list[tuple[str, int, str]] = field(default_factory=list)
    ran: list[int] = field(default_factory=list)
    calls: list[tuple[int, int, int, Kind]] = field(default_factory=list)
    is_cut: bool = False


_decode: Final = msgspec.json.Decoder(Recording).decode


def found(program: Sequence[str]) -> list[str]:
    """Return a program with the path of its script, or with `-m` and its module.

    Args:
        program: A script, a program that is installed with this Python, or `-m` and a module; and
            the arguments.

    Raises:
        UnknownProgram: There is none.

    Example:
        >>> found(["-m", "pytest", "-q"])
        ['-m', 'pytest', '-q']
    """
    name, *arguments = program
    if name == "-m":
        module = arguments[0].partition(".")[0] if arguments else ""
        if not module or find_spec(module) is None:
            raise UnknownProgram(f"There is no module `{module}`")
        return [*program]
    if Path(name).is_file():
        return [*program]
    script = Path(sysconfig.get_path("scripts"), name)
    if not script.is_file():
        raise UnknownProgram(f"There is no program `{name}`")
    if not script.read_bytes().startswith(b"#!"):
        raise UnknownProgram(f"The program `{name}` is not written in Python")
    return [str(script), *arguments]


def record(program: Sequence[str], root: Path, files: Collection[str]) -> tuple[int, Recording]:
    """Run a program, and return its exit status and its calls.

    Args:
        program: What `found` returns.
        root: The folder of the files.
        files: The files below it whose calls are recorded.

    Raises:
        NotTraced: The program has ended without a recording.
    """
    with tempfile.TemporaryDirectory(prefix="sidecypher-trace-") as folder:
        plan, recording = Path(folder, "plan.json"), Path(folder, "recording.json")
        plan.write_text(json.dumps({"root": str(root), "files": [*files]}), "utf-8")
        status = _run([sys.executable, recorder.__file__, str(plan), str(recording), *program])
        if not recording.exists():
            raise NotTraced(
                f"The program has ended with {status} and without a recording",
                hint="It was killed, or has called `os._exit`. Trace a smaller part of it.",
            )
        return status, _decode(recording.read_bytes())


def _run(command: Sequence[str]) -> int:
    """Run a command to its end, and return its exit status as a shell does."""
    with subprocess.Popen(command) as process:
        before = {
            # Ctrl-C reaches both: the program decides what it means, and its calls are kept.
            signal.SIGINT: signal.signal(signal.SIGINT, lambda *_: None),
            signal.SIGTERM: signal.signal(signal.SIGTERM, lambda *_: process.terminate()),
        }
        try:
            status = process.wait()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
    return status if status >= 0 else 128 - status
