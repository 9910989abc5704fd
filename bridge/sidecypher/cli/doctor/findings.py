"""What a check finds: its state, one line that says what is there, and the way out."""

from dataclasses import dataclass
from typing import Literal

State = Literal["OK", "WARN", "ERROR"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check has found.

    Attributes:
        state: `ERROR` is what keeps something from working, `WARN` what will or may.
        found: What is there, in one line without secrets.
        way_out: What to do; empty when all is well.
    """

    state: State
    found: str
    way_out: str = ""


class CannotTell(Exception):
    """A check has nothing to look at, such as a server that does not run.

    Args:
        why: Why it cannot tell.
        way_out: What to do so that it can.
    """

    def __init__(self, why: str, way_out: str) -> None:
        super().__init__(why)
        self.why = why
        self.way_out = way_out


def ok(found: str) -> Finding:
    """Return that all is well."""
    return Finding("OK", found)


def warn(found: str, way_out: str) -> Finding:
    """Return what works, and will not or may not for long."""
    return Finding("WARN", found, way_out)


def error(found: str, way_out: str) -> Finding:
    """Return what does not work."""
    return Finding("ERROR", found, way_out)


def named(names: list[str], most: int = 5) -> str:
    """Return names for a line, the first few of many.

    Example:
        >>> named(["a", "b", "c"], most=2)
        '`a`, `b` and 1 more'
    """
    shown = ", ".join(f"`{name}`" for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
