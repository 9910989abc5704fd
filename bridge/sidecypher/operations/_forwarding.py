"""`sidecypher.call` and `sidecypher.callWrite`: any procedure of the sidecar, by its name.

They reach procedures that the plugin does not know yet, or knows with another signature. A call is
forwarded at admission: the other procedure itself runs, with its own rules for calls.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self, TypeVar

from sidecypher import Row, procedure
from sidecypher.errors import ArgumentError
from sidecypher.protocol import envelope
from sidecypher.protocol.catalogue import Mode, ProcedureEntry
from sidecypher.sdk.registry import MARK, Procedure, Registry

FORWARDED_SECONDS: Final = 300.0
"""Longest time of a forwarded call; the called procedure's own timeout may end it earlier."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Called(Row):
    """A row of the called procedure."""

    row: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Forwarding(Procedure):
    """A procedure whose calls run another one."""

    def resolve(self, sent: list[Any], registry: Registry) -> tuple[Procedure, list[Any]]:
        """Return the named procedure, with maps as its rows, and its arguments.

        Raises:
            UnknownProcedure: No procedure has this name.
            ArgumentError: It has another mode, or its arguments do not fit.
        """
        name, given = self.arguments(sent)
        target = registry.get(name)
        self._check(target)
        if isinstance(given, list):
            arguments = target.arguments(sent[1])
        elif isinstance(given, dict):
            # A map with one key that looks like a tag is wrapped in one.
            named = sent[1] if sent[1].keys() == given.keys() else sent[1]["$map"]
            arguments = target.arguments(target.by_position(named))
        elif given is None:
            arguments = target.arguments([])
        else:
            raise ArgumentError(
                f"The argument `args` of `{self.name}` is neither a LIST nor a MAP",
                hint="Pass the arguments by position in a list, or by name in a map.",
            )
        return AsMaps.of(target), arguments

    def _check(self, target: Procedure) -> None:
        if isinstance(target, Forwarding):
            raise ArgumentError(
                f"`{self.name}` cannot call `{target.name}`",
                hint="Name the procedure itself, and pass its own arguments.",
            )
        mode = _mode(target)
        if mode == _mode(self):
            return
        hints: dict[Mode, str] = {
            "READ": "Call it by `sidecypher.call`.",
            "WRITE": "Call it by `sidecypher.callWrite`.",
            "SCHEMA": "Rebuild the plugin, restart Neo4j, and call it by its name.",
        }
        raise ArgumentError(f"`{target.name}` has the mode {mode}", hint=hints[mode])


@dataclass(frozen=True, eq=False)
class AsMaps(Procedure):
    """A procedure whose rows are one MAP each."""

    target: Procedure = field(kw_only=True)

    @classmethod
    def of(cls, target: Procedure) -> Self:
        """Return a procedure that runs the function of `target`."""
        return cls(target.function, target.signature, target.entry, target.executor, target=target)

    def collect(self, row: object) -> list[Any]:
        """Return the row as a map of its columns."""
        names = (column.name for column in self.signature.columns)
        return [dict(zip(names, self.target.encode_row(row), strict=True))]

    def encode_rows(self, collected: Sequence[Any]) -> bytes:
        """Return a JSON array of the rows."""
        return envelope.write(collected)


def _mode(target: Procedure) -> Mode:
    return target.entry.mode if isinstance(target.entry, ProcedureEntry) else "READ"


def _forwards_calls(function: _Function) -> _Function:
    """Make a procedure forward its calls; its own function is never run."""
    described: Procedure = getattr(function, MARK)
    forwarding = Forwarding(
        described.function, described.signature, described.entry, described.executor
    )
    setattr(function, MARK, forwarding)
    return function


@_forwards_calls
@procedure("sidecypher.call", timeout=FORWARDED_SECONDS, admin=True)
def call(name: str, args: Any = None) -> Iterator[Called]:
    """Call a READ procedure that the plugin may not know yet, with a LIST or MAP of arguments."""
    raise NotImplementedError(name, args)


@_forwards_calls
@procedure("sidecypher.callWrite", mode="WRITE", timeout=FORWARDED_SECONDS, admin=True)
def call_write(name: str, args: Any = None) -> Iterator[Called]:
    """Call a WRITE procedure that the plugin may not know yet, with a LIST or MAP of arguments."""
    raise NotImplementedError(name, args)
