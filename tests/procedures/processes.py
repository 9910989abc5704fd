"""Procedures in worker processes, which end in the ways that only processes end."""

import ctypes
import os
import time
from pathlib import Path
from typing import Any

from sidecypher import Row, procedure


class Anything(Row):
    value: Any


class Number(Row):
    value: int


@procedure("process.echo", executor="process")
def echo(value: Any) -> Anything:
    """Return any value."""
    return Anything(value=value)


@procedure("process.await", executor="process", timeout=60.0)
def await_(begun: str, go: str) -> Number:
    """Make one file, and wait until there is the other."""
    Path(begun).touch()
    while not Path(go).exists():
        time.sleep(0.01)
    return Number(value=os.getpid())


@procedure("process.hold", executor="process", timeout=6.0)
def hold(begun: str) -> Number:
    """Write this process's id to a file, then hold its interpreter in C code for ever."""
    Path(begun).write_text(str(os.getpid()), encoding="ascii")
    return Number(value=sum(range(10**12)))


@procedure("process.grow", executor="process")
def grow(text: str) -> Number:
    """Take more and more memory."""
    taken = []
    while True:
        taken.append(text * 100_000)


@procedure("process.crash", executor="process")
def crash(text: str) -> Number:
    """Read from where no memory is."""
    ctypes.string_at(0)
    return Number(value=len(text))
