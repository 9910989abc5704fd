"""One line of a log: when it was written, and how a person or a program reads it."""

import json
import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from rich.text import Text

_STAMP: Final = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d(?:\.\d+)?)(Z|[+-]\d\d:?\d\d)?")
_STYLES: Final = {"error": "bold red", "warning": "yellow", "debug": "dim"}
_SHOWN_APART: Final = ("timestamp", "level", "event")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a process.

    Attributes:
        text: As it was written.
        order: When, such that texts sort as times; a line without a time has that of the last one.
        members: What a line of JSON says; None of other text.
        timestamp: When, in UTC; None when the line does not tell.
    """

    process: str
    text: str
    order: str
    members: dict[str, Any] | None = None
    timestamp: datetime | None = None

    def facts(self) -> dict[str, Any]:
        """Return what JSON shows of it."""
        told = self.members or {
            "timestamp": self.timestamp and self.timestamp.isoformat(),
            "event": self.text,
        }
        # First of all, and never what a line says of itself.
        whose = {"process": self.process}
        return whose | told | whose

    def readable(self) -> Text:
        """Return what a person is shown."""
        name = (f"{self.process:<10} ", "cyan")
        if self.members is None:
            return Text.assemble(name, self.text)
        level = str(self.members.get("level", ""))
        more = "".join(
            f" {key}={value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
            for key, value in self.members.items()
            if key not in _SHOWN_APART
        )
        event = _writable(f"{level:<7} {self.members.get('event', '')}")
        style = _STYLES.get(level, "")
        return Text.assemble(name, self._clock(), (event, style), (_writable(more), "dim"))

    def _clock(self) -> str:
        """Return the local time of day, where there is one."""
        try:
            return f"{self.timestamp.astimezone():%H:%M:%S} " if self.timestamp else ""
        except OverflowError:
            return ""


def read_line(process: str, text: str, before: str) -> Line:
    """Read a line of a log.

    Args:
        process: Who wrote it.
        text: The line without its end.
        before: `order` of the line before.
    """
    members = _members(text)
    timestamp = _time_in(str(members.get("timestamp", "")) if members is not None else text[:40])
    order = timestamp.isoformat(timespec="microseconds") if timestamp else before
    return Line(process, text, order, members, timestamp)


def _members(text: str) -> dict[str, Any] | None:
    if not text.startswith("{"):
        return None
    try:
        # What JSON cannot write again stays as it was written.
        found = json.loads(text, parse_constant=str, parse_float=_finite)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _finite(text: str) -> float | str:
    number = float(text)
    return number if math.isfinite(number) else text


def _writable(text: str) -> str:
    """Put a question mark for each half of a surrogate pair, which no encoding has."""
    return text.encode(errors="replace").decode()


def _time_in(text: str) -> datetime | None:
    found = _STAMP.search(text)
    if found is None:
        return None
    try:
        stamp = datetime.fromisoformat(f"{found[1]}T{found[2]}{found[3] or '+00:00'}")
        return stamp.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
