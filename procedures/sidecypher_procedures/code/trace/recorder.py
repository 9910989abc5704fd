"""Record which functions call which while a program runs.

    recorder.py PLAN RECORDING script.py ARGUMENT...
    recorder.py PLAN RECORDING -m MODULE ARGUMENT...

The plan is JSON: the root, and the files below it that count. The program runs in this process,
so this file uses the standard library only: the program finds nothing imported that changes it.
"""

import atexit
import dis
import json
import os
import runpy
import sys
import threading
from collections.abc import Iterable, Iterator
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, CO_OPTIMIZED
from itertools import count
from operator import itemgetter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final, Literal, TypeAlias

Kind: TypeAlias = Literal["call", "implicit", "library"]
"""How a function is called: by a call expression, by other syntax, or by code in other files."""

KINDS: Final[tuple[Kind, ...]] = ("call", "implicit", "library")
"""The kinds, the plainest first."""

_TOOL: Final = 4
"""An id of `sys.monitoring` that debuggers, coverage and cProfile leave free."""

_RESUMED: Final = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
_NAMED_BY_CALLS: Final = {"__init__", "__new__", "__call__"}
_BYTES_PER_INSTRUCTION: Final = 2


class Recorder:
    """Records the calls of all threads, from `start` to `stop`.

    Comprehensions belong to the function around them. A generator is called by what first resumes
    it. Code in other files is passed over: what it calls is called by the nearest caller in the
    files, and by nothing if there is none.

    Args:
        root: The folder of the files.
        files: Their paths below it.

    Example:
        >>> recorder = Recorder("/srv/code/shop", ["main.py"])
        >>> recorder.start()  # doctest: +SKIP
        >>> recorder.stop()  # doctest: +SKIP
        >>> recorder.recording()["calls"]
        []
    """

    def __init__(self, root: str, files: Iterable[str]) -> None:
        self._files = {os.path.realpath(Path(root, file)): file for file in files}
        # By the name in a code object, which may be relative or lead through links.
        self._paths: dict[str, str | None] = {}
        # By the ids of code objects: equal functions in two files are equal code. Those of the
        # files are kept alive, so that their ids stay theirs.
        self._codes: dict[int, CodeType] = {}
        self._owners: dict[int, int] = {}
        self._names: dict[int, str] = {}
        self._first_offsets: dict[int, int] = {}
        # Lines and instructions: both take long to get for large code.
        self._sites: dict[int, tuple[list[int | None], bytes]] = {}
        self._entries: set[tuple[int, int, int, bool]] = set()
        self._is_cut = False

    def start(self) -> None:
        """Begin to record; code that already runs is followed from its next call."""
        if sys.version_info >= (3, 12):
            monitoring = sys.monitoring
            event = monitoring.events.PY_START
            monitoring.use_tool_id(_TOOL, "sidecypher")
            monitoring.register_callback(_TOOL, event, self._on_start)
            monitoring.set_events(_TOOL, event)
        else:
            threading.setprofile(self._on_profile)
            sys.setprofile(self._on_profile)

    def stop(self) -> None:
        """End recording."""
        if sys.version_info >= (3, 12):
            sys.monitoring.set_events(_TOOL, sys.monitoring.events.NO_EVENTS)
            sys.monitoring.free_tool_id(_TOOL)
        else:
            self._is_cut = sys.getprofile() != self._on_profile
            threading.setprofile(None)
            sys.setprofile(None)

    def recording(self) -> dict[str, Any]:
        """Return what was recorded, as a `Recording` in JSON has it."""
        # A copy, because daemon threads may still go on.
        entries = [*self._entries]
        ran = {callee for _, _, callee, _ in entries}
        codes = [*ran | {self._owners[site] for site, *_ in entries if site}]
        numbers = {code: number for number, code in enumerate(codes)}
        return {
            "places": [self._place(code) for code in codes],
            "ran": [numbers[code] for code in ran],
            "calls": [
                (
                    numbers[self._owners[site]],
                    numbers[callee],
                    *self._call(site, offset, callee, is_direct=is_direct),
                )
                for site, offset, callee, is_direct in entries
                if site and self._codes[callee].co_flags & CO_OPTIMIZED
            ],
            "is_cut": self._is_cut,
        }

    def _place(self, key: int) -> tuple[str | None, int, str]:
        code = self._codes[key]
        return self._path(code.co_filename), code.co_firstlineno, self._names[key]

    def _on_start(self, code: CodeType, _: int) -> object:
        if sys.version_info >= (3, 12) and not self._owner(code):
            return sys.monitoring.DISABLE
        self._enter(sys._getframe(1))  # noqa: SLF001 - the frame that has begun
        return None

    def _on_profile(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call" and self._owner(frame.f_code):
            code = frame.f_code
            if code.co_flags & _RESUMED and frame.f_lasti != self._first_offset(code):
                return
            self._enter(frame)

    def _enter(self, frame: FrameType) -> None:
        """Note a frame of the files that has begun, and its nearest caller in the files."""
        callee = id(frame.f_code)
        if self._owners[callee] != callee:
            return
        site, is_direct = frame.f_back, True
        while site is not None and not self._owner(site.f_code):
            site, is_direct = site.f_back, False
        if site is None:
            self._entries.add((0, 0, callee, False))
        else:
            self._entries.add((id(site.f_code), site.f_lasti, callee, is_direct))

    def _owner(self, code: CodeType) -> int:
        """Return the id of the function that code belongs to; 0 for code of other files."""
        owner = self._owners.get(id(code))
        if owner is None and self._path(code.co_filename) is not None:
            is_module = code.co_name == "<module>"
            name = "" if is_module else code.co_qualname.replace("<locals>.", "")
            self._keep(code, name)
            return id(code)
        return owner or 0

    def _path(self, name: str) -> str | None:
        if name not in self._paths:
            self._paths[name] = self._files.get(os.path.realpath(name))
        return self._paths[name]

    def _keep(self, code: CodeType, name: str) -> None:
        """Keep code, and all that is nested in it; lambdas are numbered as the graph does."""
        self._codes[id(code)] = code
        self._names[id(code)] = name
        lambdas = count(1)
        for part in _in_order(_parts(code)):
            if _is_part_of_its_owner(part):
                self._codes[id(part)] = part
                self._owners[id(part)] = id(code)
            else:
                own = f"<lambda{next(lambdas)}>" if part.co_name == "<lambda>" else part.co_name
                self._keep(part, f"{name}.{own}" if name else own)
        # Last, because other threads then take the rest for known.
        self._owners[id(code)] = id(code)

    def _first_offset(self, code: CodeType) -> int:
        """Return where a generator or coroutine is when it is resumed for the first time."""
        offset = self._first_offsets.get(id(code))
        if offset is None:
            offset = next(each.offset for each in dis.get_instructions(code) if _resumes(each))
            self._first_offsets[id(code)] = offset
        return offset

    def _call(self, site: int, offset: int, callee: int, *, is_direct: bool) -> tuple[int, Kind]:
        """Return the line of a call, and how it is made."""
        if site not in self._sites:
            code = self._codes[site]
            self._sites[site] = [line for line, *_ in code.co_positions()], code.co_code
        lines, instructions = self._sites[site]
        line = lines[offset // _BYTES_PER_INSTRUCTION] or self._codes[site].co_firstlineno
        if not is_direct:
            return line, "library"
        called = self._codes[callee]
        # A loop or an `await` resumes what a call expression has made.
        if called.co_flags & _RESUMED:
            return line, "call"
        # The entries of an instruction's cache follow it.
        while dis.opname[instructions[offset]] == "CACHE":
            offset -= _BYTES_PER_INSTRUCTION
        is_called = "CALL" in dis.opname[instructions[offset]] and not _is_of_syntax(called.co_name)
        return line, "call" if is_called else "implicit"


def _is_of_syntax(name: str) -> bool:
    """Return whether functions with a name are called by operators, loops and the like."""
    return name.startswith("__") and name.endswith("__") and name not in _NAMED_BY_CALLS


def _resumes(instruction: dis.Instruction) -> bool:
    return instruction.opname == "RESUME"


def _parts(code: CodeType) -> Iterator[CodeType]:
    """Yield the code that is nested in code, and in its comprehensions."""
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield part
            if _is_part_of_its_owner(part):
                yield from _parts(part)


def _is_part_of_its_owner(code: CodeType) -> bool:
    """Return whether code is a comprehension, or the like."""
    return code.co_name.startswith("<") and code.co_name != "<lambda>"


def _in_order(parts: Iterable[CodeType]) -> list[CodeType]:
    """Return code in the order of the file; it was compiled in nearly the same order."""
    placed: list[tuple[tuple[int, int], CodeType]] = []
    place = (0, 0)
    for part in parts:
        positions = [
            (line, column)
            for line, _, column, end_column in part.co_positions()
            if line is not None and column is not None and end_column
        ]
        # In Python 3.12 a lambda that returns a constant has no column.
        place = min(positions, default=place)
        placed.append((place, part))
    return [part for _, part in sorted(placed, key=itemgetter(0))]


def run(program: list[str]) -> None:
    """Run a program as `python` would: a module after `-m`, or a script."""
    is_module = program[0] == "-m"
    sys.argv = program[is_module:]
    if not sys.flags.safe_path:
        # In its place is the folder of this file.
        sys.path[0] = str(Path.cwd() if is_module else Path(program[0]).resolve().parent)
    if is_module:
        runpy.run_module(program[1], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(program[0], run_name="__main__")


def main() -> None:
    """Run a program, and write what was recorded when all of its threads have ended."""
    plan, recording, *program = sys.argv[1:]
    target = Path(recording).resolve()
    recorder = Recorder(**json.loads(Path(plan).read_text("utf-8")))
    process = os.getpid()

    def write() -> None:
        # A forked child ends here, too, and has only a part.
        if os.getpid() == process:
            recorder.stop()
            target.write_text(json.dumps(recorder.recording()), "utf-8")

    atexit.register(write)
    recorder.start()
    run(program)


if __name__ == "__main__":
    main()
