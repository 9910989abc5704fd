"""`Inspector`: the state of the sidecar, and the reload of changed procedures."""

import contextvars
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from sidecypher.calls.dispatcher import Dispatcher
from sidecypher.calls.executors.loop import EventLoop
from sidecypher.host.threads import in_thread
from sidecypher.loading.changes import Change, changes_between
from sidecypher.loading.loader import Loaded, load
from sidecypher.protocol.deadline import Deadline
from sidecypher.sdk.resources import Resources
from sidecypher.transport.http.health import Check

_PAUSE_SECONDS: Final = 0.05
_PING_SECONDS: Final = 2.0
_STOP_SECONDS: Final = 5.0


class Inspector:
    """State and control of the sidecar, for the procedures `sidecypher.*`; the sidecar provides it.

    Args:
        loaded: The procedures loaded at the start.
        checks: The conditions for serving calls, by name.
        on_reload: Called after each reload, with the loaded procedures and the changes.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        loop: EventLoop,
        resources: Resources,
        *,
        folders: tuple[Path, ...],
        loaded: Loaded,
        checks: Mapping[str, Check],
        on_reload: Callable[[Loaded, tuple[Change, ...]], None],
    ) -> None:
        self.dispatcher: Final = dispatcher
        self.loaded = loaded
        self.started_at: Final = datetime.now(UTC)
        self._loop = loop
        self._resources = resources
        self._folders = folders
        self._checks = checks
        self._on_reload = on_reload
        self._reloads: dict[object, None] = {}
        self._unused: list[tuple[list[type], frozenset[str]]] = []

    def health(self) -> dict[str, str | None]:
        """Return the problem, or None, by the name of each check and shared object."""
        checked = {name: check() for name, check in self._checks.items()}
        return checked | self._resources.ping(lambda start: self._await(start, _PING_SECONDS))

    def reload(self, own_call: str, seconds: float) -> tuple[Change, ...]:
        """Load changed modules again; running calls keep the code they started with.

        Args:
            own_call: Id of the call that requests it.
            seconds: Longest wait for another reload to end.

        Raises:
            TimeoutError: It did not end.
        """
        own, deadline = object(), Deadline.after(seconds)
        try:
            # A queue, not a lock: `CallInterrupted` may come right after a lock is taken, before
            # the block that releases it.
            self._reloads[own] = None
            while next(iter(list(self._reloads))) is not own:
                if deadline.expired():
                    raise TimeoutError
                time.sleep(_PAUSE_SECONDS)
            loaded = load(self._folders, self.loaded)
            changes = changes_between(self.loaded, loaded)
            # Swap before anything is reported: this call may be cancelled at any line below.
            self.dispatcher.swap(loaded.registry)
            self.loaded = loaded
            replaced = [each for part in loaded.parts.values() for each in part.replaced]
            kinds = self._resources.of_modules(replaced)
            if kinds:
                users = {each.call_id for each in self.dispatcher.calls.running()} - {own_call}
                self._unused.append((kinds, frozenset(users)))
            # Before the next one begins, so that the latest is told last.
            self._on_reload(loaded, changes)
        finally:
            self._reloads.pop(own, None)
        return changes

    def run_housekeeping(self) -> None:
        """Stop the shared objects of replaced classes once no running call can use them."""
        if not self._unused:
            return
        running = {each.call_id for each in self.dispatcher.calls.running()}
        # A reload may add to the list meanwhile.
        for entry in list(self._unused):
            kinds, users = entry
            if not users & running:
                # On another thread: this one also ends overdue calls, which cannot wait.
                in_thread(partial(self._drop, kinds), "sidecypher-drop")
                self._unused.remove(entry)

    def _drop(self, kinds: list[type]) -> None:
        self._resources.drop(kinds, lambda start: self._await(start, _STOP_SECONDS))

    def _await(self, start: Callable[[], Awaitable[Any]], seconds: float) -> Any:
        return self._loop.run(start, contextvars.copy_context(), seconds)
