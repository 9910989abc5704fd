"""`Execution`: a call with its function, on any executor."""

import math
import threading
import time
from abc import ABC, abstractmethod
from typing import Annotated, Any, Final

from sidecypher.calls.executors._pages import Pages
from sidecypher.calls.reservation import Reservation
from sidecypher.errors import CallError
from sidecypher.protocol.envelope import CallBack, CallHead
from sidecypher.sdk.call import Call, no_transaction_in_function, no_transaction_in_worker
from sidecypher.sdk.context import Context
from sidecypher.sdk.projection import project
from sidecypher.sdk.registry import IN_WORKERS, Procedure
from sidecypher.sdk.resources import Resources
from sidecypher.telemetry.calls import Observation
from sidecypher.values.annotations import Description
from sidecypher.values.rows import Row

OVERDUE_SECONDS: Final = 1.0
"""How long after its deadline a call is cancelled here if its caller did not cancel it."""


class RunningCall(Row):
    """A call that is being served or has rows left."""

    call_id: str
    name: str
    user: str
    database: str
    seconds: Annotated[float, Description("since it began")]
    rows: Annotated[int, Description("sent so far")]
    done: Annotated[float | None, Description("of its progress, as the function reports it")]
    total: float | None
    state: Annotated[str, Description("running, waiting, stopping or stuck")]


class Execution(Call, ABC):
    """A call whose function runs or will run.

    Attributes:
        jvm: Identity of the JVM that called.
        refusal: Refuses `ctx.run` if the function has no access to the caller's transaction.
        started: When it started, on the monotonic clock.
        idle_since: When its latest page was ready.
        seconds_left: Rest of its procedure's timeout, if its caller applies another one.
        pages: The rows that wait to be sent.
        pages_begun: Number of pages that were begun.
        projected: Parameters of the statement whose result the function gets; None if it gets none
            or has it.
        change: `Epochs.change` at the start, if plugins may keep the rows.
        pending_error: Error that the function raised after the rows that are sent before it.
        lock: Held by the thread that serves or closes it.
    """

    observed: Observation

    def __init__(self, head: CallHead, procedure: Procedure) -> None:
        super().__init__(head.call_id, procedure.name, head.database, head.user)
        self.procedure: Final = procedure
        self.jvm = ""
        self.refusal = _refusal(procedure)
        self.reservation = Reservation()
        self.started = self.idle_since = time.monotonic()
        self.seconds_left = math.inf
        self.pages: Final = Pages(procedure)
        self.pages_begun = 0
        self.projected: dict[str, Any] | None = None
        self.change: int | None = None
        self.pending_error: CallError | None = None
        self.lock: Final = threading.Lock()

    def project(self, most_bytes: int) -> None:
        """Read the table that the function gets, on the thread that serves the first page.

        Raises:
            CallError: As `projection.project` does.
        """
        parameters, self.projected = self.projected, None
        if parameters is not None:
            self.has_run = True
            self.projection = project(self, self.procedure.project, parameters, most_bytes)

    @abstractmethod
    def fill(self) -> bool:
        """Add rows to `pages` until the page is full; return whether more may follow."""

    @abstractmethod
    def close(self) -> None:
        """Close the generator, if the function is a generator."""

    @abstractmethod
    def interrupt(self) -> None:
        """Raise an exception in a function that did not stop, if that is possible."""

    @property
    @abstractmethod
    def is_still_running(self) -> bool:
        """Whether the function is running: for the next page, or although it was cancelled."""

    @property
    def is_busy(self) -> bool:
        """Whether a thread or task is working on it."""
        return self.lock.locked() or self.is_still_running

    @property
    def is_overdue(self) -> bool:
        """Whether it is served beyond its deadline and its caller did not cancel it."""
        return self.deadline.is_past_by(OVERDUE_SECONDS if self.seconds_left == math.inf else 0.0)

    def snapshot(self, *, is_stuck: bool) -> RunningCall:
        """Return the row for lists of running calls."""
        return RunningCall(
            call_id=self.call_id,
            name=self.name,
            user=self.user,
            database=self.database,
            seconds=time.monotonic() - self.started,
            rows=self.observed.rows,
            done=self.done,
            total=self.total,
            state="stuck"
            if is_stuck
            else "stopping"
            if self.is_cancelled
            else "running"
            if self.is_served
            else "waiting",
        )

    def with_context(self, arguments: list[Any], resources: Resources) -> list[Any]:
        """Return the arguments of the function, with the context first if it accepts one."""
        if not self.procedure.signature.takes_context:
            return arguments
        return [Context(self, resources, is_async=self.procedure.is_async), *arguments]


def _refusal(procedure: Procedure) -> CallBack | None:
    if procedure.kind == "function":
        return no_transaction_in_function
    # The statement of a projection runs before the function does, in the caller's transaction.
    if procedure.executor in IN_WORKERS and not procedure.project:
        return no_transaction_in_worker
    return None
