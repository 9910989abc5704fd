"""What waits to be written to the graph, wherever it is kept."""

import asyncio
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

LONGEST_PAUSE: Final = 30.0
"""No delivery is postponed for longer, in seconds."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """A stored delivery.

    Attributes:
        id: GitHub's id, which stays the same when it is sent again.
        payload: JSON of the fields that are kept for the graph.
        failures: Number of failures although Neo4j answered.
        failed_at: Time of the first of them, in seconds since 1970.
        repository: Id of its repository, whose deliveries are written in order; empty without one.
    """

    id: str
    event: str
    payload: bytes
    received_at: datetime
    failures: int = 0
    failed_at: float | None = None
    repository: str = ""


class Queue(Protocol):
    """Deliveries, those of each repository in the order in which they came.

    Attributes:
        arrived: Is set when this sidecar has put one.
    """

    arrived: asyncio.Event

    async def put(self, delivery: Delivery) -> None:
        """Store a delivery; one that is there already is not changed.

        Raises:
            WebhooksUnstored: It could not be stored.
        """

    def writing(self) -> AbstractContextManager[None]:
        """Allow `take` within the context; raise BlockingIOError if another process takes."""

    async def take(self) -> Delivery | None:
        """Return one that is due, of a repository that no other one is taken of; None without."""

    async def remove(self, delivery: Delivery) -> None:
        """Remove a delivery that was written or given up."""

    async def put_off(self, delivery: Delivery, pause: float) -> None:
        """Count a failure; with a `pause` in seconds, also postpone the delivery behind others."""

    async def rest(self, delivery: Delivery, pause: float) -> None:
        """Wait for a pause in seconds; another sidecar may take a delivery of its repository."""

    async def release(self, delivery: Delivery) -> None:
        """Let the next one of its repository be taken."""

    async def keep(self) -> None:
        """Keep what is taken; to be called every second or so."""
