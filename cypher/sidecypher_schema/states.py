"""States of migrations, from a comparison of the files with the chain."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from sidecypher_schema.chain import Applied
from sidecypher_schema.errors import ChainMismatch
from sidecypher_schema.scripts import Script, order_of

State = Literal["applied", "pending", "changed", "missing"]
"""State of a migration; `missing` means that it was applied and has no file any more."""


@dataclass(frozen=True, slots=True)
class MigrationState:
    """A migration, in files, chain or both.

    Attributes:
        script: Its file, if there is one.
        applied: Its entry in the chain, if it was applied.
    """

    script: Script | None
    applied: Applied | None

    @property
    def version(self) -> str:
        """Such as `001`, or `R__name`."""
        return self._described.version

    @property
    def description(self) -> str:
        """Words of its name."""
        return self._described.description

    @property
    def source(self) -> str:
        """Name of its file."""
        return self._described.source

    @property
    def repeatable(self) -> bool:
        """Whether it runs again when it has changed."""
        return self._described.repeatable

    @property
    def state(self) -> State:
        """State from the comparison of file and chain."""
        if self.script is None:
            return "missing"
        if self.applied is None:
            return "pending"
        return "applied" if self.applied.checksum == self.script.checksum else "changed"

    @property
    def due(self) -> bool:
        """Whether a run applies it."""
        return self.state == "pending" or (self.state == "changed" and self.repeatable)

    @property
    def _described(self) -> Script | Applied:
        described = self.script or self.applied
        assert described is not None  # noqa: S101 - it is in files or chain
        return described


def migration_states(
    migrations: Sequence[Script], chain: Sequence[Applied]
) -> list[MigrationState]:
    """Return all migrations: applied ones in the order of the chain, then pending ones.

    Args:
        migrations: The files.
        chain: The applied scripts.

    Example:
        >>> from sidecypher_schema.scripts import shipped_scripts
        >>> migration_states(shipped_scripts().migrations, [])[0].state
        'pending'
    """
    scripts = {script.version: script for script in migrations}
    applied = {one.version for one in chain}
    return [
        *(MigrationState(scripts.get(one.version), one) for one in chain),
        *(MigrationState(script, None) for script in migrations if script.version not in applied),
    ]


def refuse_mismatch(found: Sequence[MigrationState]) -> None:
    """Refuse to migrate if the files do not begin with the chain.

    Raises:
        ChainMismatch: An applied script was changed or is gone, or a pending one comes too late.
    """
    for problem in mismatches(found):
        raise ChainMismatch(problem)


def mismatches(found: Sequence[MigrationState]) -> Iterator[str]:
    """Yield the reasons why a run cannot begin."""
    latest = max(
        (order_of(each.version) for each in found if each.applied and not each.repeatable),
        default=(),
    )
    for each in found:
        if each.state == "missing":
            yield f"`{each.source}` was applied, and there is no such file any more"
        elif each.state == "changed" and not each.repeatable:
            yield f"`{each.source}` is not what was applied: its checksum is another one"
        elif each.state == "pending" and not each.repeatable and order_of(each.version) < latest:
            yield f"`{each.source}` comes before what is applied already"
