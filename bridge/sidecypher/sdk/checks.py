"""Checks of `sidecypher doctor`, which any package may bring."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Self

State = Literal["OK", "WARN", "ERROR"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check has found.

    Attributes:
        state: `ERROR` if something does not work, `WARN` if it will or may not.
        found: The facts, in one line without secrets.
        fix: What to do; empty if there is nothing to do.

    Example:
        >>> Finding.warn("the token ends tomorrow", "Make a new one.").state
        'WARN'
    """

    state: State
    found: str
    fix: str = ""

    @classmethod
    def ok(cls, found: str) -> Self:
        """Return that all is well."""
        return cls("OK", found)

    @classmethod
    def warn(cls, found: str, fix: str) -> Self:
        """Return what works now, and may fail later."""
        return cls("WARN", found, fix)

    @classmethod
    def error(cls, found: str, fix: str) -> Self:
        """Return what does not work."""
        return cls("ERROR", found, fix)


class CannotCheck(Exception):
    """A check needs something that is not there, such as a running server; reported as `WARN`.

    Args:
        why: Why it cannot be checked.
        fix: What to do so that it can.

    Example:
        >>> raise CannotCheck("Neo4j does not run", "Run `sidecypher up`.")
        Traceback (most recent call last):
        ...
        sidecypher.sdk.checks.CannotCheck: Neo4j does not run
    """

    def __init__(self, why: str, fix: str) -> None:
        super().__init__(why)
        self.why = why
        self.fix = fix


class CheckContext(ABC):
    """The installation that a check looks at; a check must change nothing.

    Example:
        >>> def look_at_queue(ctx: CheckContext) -> Finding:
        ...     [row] = ctx.call("acme.queue")
        ...     return Finding.ok(f"{row['waiting']} messages wait")
    """

    @abstractmethod
    def call(self, name: str, *arguments: Any) -> list[dict[str, Any]]:
        """Call a procedure without a transaction, in a running sidecar or else in this process.

        Raises:
            CannotCheck: There is no such procedure, or the sidecar does not answer.
            SidecypherError: The call failed.
        """

    @abstractmethod
    def call_in_neo4j(self, name: str, *arguments: Any) -> list[dict[str, Any]]:
        """Call a procedure that reads the graph: through Neo4j, or without a sidecar on no graph.

        Raises:
            CannotCheck: Neo4j cannot be reached, or there is no such procedure.
            SidecypherError: The call failed.
        """


@dataclass(frozen=True, slots=True)
class Check:
    """One check. A package lists its checks in an entry point of the group `sidecypher.checks`.

    Attributes:
        group: The heading of the report that it belongs to.
        name: Its name.
        look: Looks at one thing and says what it has found; changes nothing, within 30 s.

    Example:
        >>> CHECKS = (Check("Acme", "token", lambda ctx: Finding.ok("there is one")),)
    """

    group: str
    name: str
    look: Callable[[Any], Finding]  # a `CheckContext`, of which sidecypher's own checks know more
