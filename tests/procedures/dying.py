"""A process that kills itself at a chosen moment."""

import os
import pkgutil
import signal
from itertools import count

from sidecypher import procedure


@procedure("test.dieAt")
def die_at(owner: str, name: str, call: int) -> None:
    """Make this process kill itself when it calls a function for the so-manieth time, from 1."""
    place = pkgutil.resolve_name(owner)
    original, calls = getattr(place, name), count(1)

    def dying(*arguments, **named):
        if next(calls) == call:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*arguments, **named)

    setattr(place, name, dying)
