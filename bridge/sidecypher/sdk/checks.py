"""Checks of `sidecypher doctor`, which any package can add."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Self

State = Literal["OK", "WARN", "ERROR"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check.

    Attributes:
        state: `ERROR` if something does not work, `WARN` if it will or may not.
        found: The facts, in one line without secrets.
        fix: The next step for the user; empty if nothing is wrong.

    Example:
        >>> Finding.warn("the token ends tomorrow", "Make a new one.").state
        'WARN'
    """

    state: State
    found: str
    fix: str = ""

    @classmethod
    def ok(cls, found: str) -> Self:
        """Return a finding without a problem."""
        return cls("OK", found)

    @classmethod
    def warn(cls, found: str, fix: str) -> Self:
        """Return a finding that works now but may fail later."""
        return cls("WARN", found, fix)

    @classmethod
    def error(cls, found: str, fix: str) -> Self:
        """Return a finding that does not work."""
        return cls("ERROR", found, fix)


class CannotCheck(Exception):
    """A check needs something that is missing, such as a running server; reported as `WARN`.

    Args:
        why: The reason.
        fix: The step that makes the check possible.

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
    """The installation that a check examines; a check must change nothing.

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
        """Call a procedure that reads the graph, through Neo4j; without a sidecar it reads none.

        Raises:
            CannotCheck: Neo4j cannot be reached, or there is no such procedure.
            SidecypherError: The call failed.
        """


@dataclass(frozen=True, slots=True)
class Check:
    """One check. A package lists its checks in an entry point of the group `sidecypher.checks`.

    Attributes:
        group: Its heading in the report.
        name: Its name.
        look: Checks one thing and returns the finding; changes nothing and takes at most 30 s.

    Example:
        >>> CHECKS = (Check("Acme", "token", lambda ctx: Finding.ok("there is one")),)
    """

    group: str
    name: str
    look: Callable[[Any], Finding]  # a `CheckContext`, of which sidecypher's own checks know more
