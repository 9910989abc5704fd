"""What a process of `sync` has done."""

from dataclasses import dataclass


@dataclass
class Counts:
    """What a process that writes events has done since it started.

    Attributes:
        written: Events that it has written.
        duplicates: Events that were there before.
        dead: Events that became dead letters.
        failures: Tries while Neo4j was away.
    """

    written: int = 0
    duplicates: int = 0
    dead: int = 0
    failures: int = 0
