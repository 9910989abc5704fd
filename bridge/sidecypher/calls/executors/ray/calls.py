"""The calls of one sidecar, as its driver runs them on a Ray cluster."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from functools import partial
from typing import Any, Final

import msgspec
import ray
import ray.exceptions

from sidecypher.calls.executors.pool_messages import Outcome, Task
from sidecypher.calls.executors.ray.messages import Cancel, DriverSetup, Report, Submit
from sidecypher.calls.executors.ray.places import Actors, NotStartedError, Place, TaskPlace, run
from sidecypher.errors import (
    ClusterUnavailable,
    MessageTooLarge,
    OutcomeUnknown,
    SidecypherError,
    WorkerLost,
)
from sidecypher.protocol import envelope
from sidecypher.protocol.envelope import ErrorBody
from sidecypher.sdk.call import cancelled, procedure_failed
from sidecypher.sdk.projection import shared_table
from sidecypher.sdk.registry import RayOptions
from sidecypher.telemetry.calls import log_unexpected

ATTEMPTS: Final = 3
"""How often a call that may run again is begun."""

_PARTS: Final = 4
"""Parts of a batch for each of those that run at a time: few wait for a slow one at the end."""

_LOST: Final = (
    ray.exceptions.WorkerCrashedError,
    ray.exceptions.NodeDiedError,
    ray.exceptions.RayActorError,
    ray.exceptions.ObjectLostError,
    ray.exceptions.RaySystemError,
    ray.exceptions.LocalRayletDiedError,
)

Send = Callable[[Report | bytes], None]
"""Sends a message to the sidecar; an outcome of a node may be sent as it came."""


class _Summary(msgspec.Struct):
    """What the driver reads of an outcome."""

    more: bool = False
    rows: list[msgspec.Raw] = []


class Calls:
    """The calls of one sidecar."""

    def __init__(self, setup: DriverSetup, send: Send) -> None:
        self._setup = setup
        self._send = send
        self._node_setup: Final = envelope.write(setup.setup)
        self._running: dict[str, asyncio.Task[None]] = {}
        self._actors: dict[str, Actors] = {}
        self.cpus = 1.0

    def handle(self, request: Submit | Cancel) -> None:
        """Begin a call, or end one."""
        if isinstance(request, Submit):
            work = asyncio.ensure_future(self._serve(request))
            self._running[request.task.call_id] = work
            work.add_done_callback(partial(self._end, request.task))
            return
        found = self._running.get(request.call_id)
        if found is not None:
            found.cancel()

    def _end(self, task: Task, work: asyncio.Task[None]) -> None:
        self._running.pop(task.call_id, None)
        # Not in `_serve`: a call that is cancelled before its first step never gets there.
        if work.cancelled():
            self._send(_failed(task, cancelled(task.name)))

    async def _serve(self, submit: Submit) -> None:
        try:
            table = await _put(submit.task)
            parts = self._parts(submit)
            if len(parts) > 1:
                await self._serve_parts(submit, parts, table)
                return
            async for outcome in self._outcomes(submit.task, submit.options, table):
                self._send(outcome)
        except SidecypherError as error:
            self._send(_failed(submit.task, error))
        except Exception as error:  # noqa: BLE001 - a call without an outcome would never end
            log_unexpected(error, procedure=submit.task.name, call=submit.task.call_id)
            failure = procedure_failed(submit.task.name, error, submit.task.call_id)
            self._send(_failed(submit.task, failure))

    def _parts(self, submit: Submit) -> list[Task]:
        """Return the parts of a batch, or the task itself."""
        task = submit.task
        if not submit.is_batch or len(task.args) != 1 or not isinstance(task.args[0], list):
            return [task]
        rows = task.args[0]
        size = max(1, -(-len(rows) // (self._at_a_time(submit.options) * _PARTS)))
        return [
            msgspec.structs.replace(task, args=[rows[first : first + size]], first=first)
            for first in range(0, len(rows), size)
        ]

    def _at_a_time(self, options: RayOptions) -> int:
        if options.actor:
            return options.max_actors
        return max(1, int(self.cpus / (options.resources.get("num_cpus", 1) or 1)))

    async def _serve_parts(self, submit: Submit, parts: list[Task], table: Any) -> None:
        """Run parts at once, and send their outcomes in order.

        Raises:
            SidecypherError: A part was lost, or all together are too large.
        """
        free = asyncio.Semaphore(self._at_a_time(submit.options))
        size, most = 0, self._setup.setup.message_bytes

        async def run(part: Task) -> list[bytes]:
            nonlocal size
            found = []
            async with free:
                outcomes = self._outcomes(part, submit.options, table)
                async with contextlib.aclosing(outcomes):
                    async for outcome in outcomes:
                        size += len(outcome)
                        if size > most:
                            raise MessageTooLarge(
                                f"The rows of `{part.name}` have more than {most} bytes, which a "
                                "call may send",
                                hint="Pass fewer rows, or return less for each.",
                            )
                        found.append(outcome)
            return found

        works = [asyncio.ensure_future(run(part)) for part in parts]
        try:
            for work in works:
                for message in await work:
                    outcome = envelope.read(message, Outcome)
                    self._send(msgspec.structs.replace(outcome, more=outcome.error is None))
                    if outcome.error is not None:
                        return
            self._send(Outcome(submit.task.call_id))
        finally:
            for work in works:
                work.cancel()
            await asyncio.gather(*works, return_exceptions=True)

    async def _outcomes(self, task: Task, options: RayOptions, table: Any) -> AsyncGenerator[bytes]:
        """Run a task, again if its process was lost before its first row and it may.

        Raises:
            SidecypherError: The cluster cannot run it, or it was lost.
        """
        message = envelope.write(task)
        for attempt in range(1, ATTEMPTS + 1):
            has_rows, more = False, True
            try:
                async with (
                    self._place(task.name, options) as place,
                    contextlib.aclosing(run(place, task.call_id, message, table)) as outcomes,
                ):
                    async for outcome in outcomes:
                        summary = envelope.read(outcome, _Summary)
                        has_rows, more = has_rows or summary.rows != [], summary.more
                        yield outcome
            except _LOST as error:
                if not more:
                    return
                if has_rows or not options.retryable or attempt == ATTEMPTS:
                    raise _lost(task.name, error) from None
            except NotStartedError as error:
                raise _unavailable(task.name, error) from None
            except ray.exceptions.OutOfMemoryError:
                raise WorkerLost(f"The node that ran `{task.name}` had no memory left") from None
            except ray.exceptions.RayError as error:
                raise _unavailable(task.name, error) from None
            else:
                return

    def _place(
        self, name: str, options: RayOptions
    ) -> "contextlib.AbstractAsyncContextManager[Place]":
        if not options.actor:
            return contextlib.nullcontext(TaskPlace(self._node_setup, options))
        if name not in self._actors:
            self._actors[name] = Actors(self._node_setup, options)
        return self._actors[name].one()


def _failed(task: Task, error: SidecypherError) -> Outcome:
    return Outcome(task.call_id, error=ErrorBody.of(error))


async def _put(task: Task) -> Any:
    """Put the table of a projection into the object store, from which nodes read it.

    Raises:
        ClusterUnavailable: The object store has no room.
    """
    if not task.projection:
        return None
    loop = asyncio.get_running_loop()
    try:
        return await loop.run_in_executor(None, lambda: ray.put(shared_table(task.projection)))
    except ray.exceptions.RayError as error:
        raise _unavailable(task.name, error) from None


def _lost(name: str, error: Exception) -> OutcomeUnknown:
    return OutcomeUnknown(
        f"Ray has lost the process or node that ran `{name}` ({type(error).__name__})"
    )


def _unavailable(name: str, error: Exception) -> ClusterUnavailable:
    cause = getattr(error, "cause", None) or error
    return ClusterUnavailable(
        f"No node of the Ray cluster could run `{name}` ({type(cause).__name__})",
        hint="See Ray's logs; each node needs the same version of sidecypher and your procedures.",
    )
