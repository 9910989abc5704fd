"""The sidecar: everything put together, started and stopped in order."""

import contextlib
import contextvars
import faulthandler
import gc
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Final

from msgspec import structs

from sidecypher.calls.dispatcher import Dispatcher
from sidecypher.calls.executors.loop import STEP_SECONDS, EventLoop
from sidecypher.calls.executors.pool import ProcessWorkers
from sidecypher.calls.executors.pool_messages import KILL_SECONDS, Setup
from sidecypher.calls.executors.ray.cluster import RAY_STOP_SECONDS, RayCluster
from sidecypher.host.address import bolt_address
from sidecypher.host.credentials import load_credentials
from sidecypher.host.epochs import FILE as EPOCHS_FILE
from sidecypher.host.epochs import Epochs
from sidecypher.host.limits import Limits
from sidecypher.host.remote import remote_context, write_remote_folder
from sidecypher.host.rendezvous import (
    LEAVE_LOCK_SECONDS,
    Announcement,
    Membership,
    place_for_socket,
    remove_socket,
    running_sidecars,
)
from sidecypher.host.settings import Settings
from sidecypher.host.signals import STOP_SIGNALS, Wakeup
from sidecypher.loading.changes import Change
from sidecypher.loading.loader import Loaded, load
from sidecypher.operations.api import OperatorApi
from sidecypher.operations.backgrounds import Backgrounds
from sidecypher.operations.console.page import Console
from sidecypher.operations.control import Inspector
from sidecypher.operations.panels import PanelApi
from sidecypher.operations.recording import RecordingDispatcher
from sidecypher.protocol.deadline import Deadline
from sidecypher.sdk.bolt import BoltClient
from sidecypher.sdk.caching import share_epochs, unshare_epochs
from sidecypher.sdk.resources import Resources
from sidecypher.sdk.steps import Steps
from sidecypher.telemetry.calls import Telemetry, configure_logging, log_unexpected, logger
from sidecypher.telemetry.export import export_spans
from sidecypher.transport.http.api import HttpApi
from sidecypher.transport.http.health import health_routes
from sidecypher.transport.http.server import CLOSE_SECONDS, HttpServer
from sidecypher.transport.http.tokens import TokenCheck
from sidecypher.transport.http.webhooks import WebhookApi
from sidecypher.transport.listeners import TlsListener, UnixListener
from sidecypher.transport.py4j import SEND_SECONDS, Py4JServer

SWITCH_SECONDS: Final = 0.0005
"""How long a thread may hold the interpreter when others wait.

Measured with eight echo callers next to one busy body (2 cores): the echo's median fell from 5.5 ms
to 1.0 ms against Python's default of 5 ms.
"""

TIDY_SECONDS: Final = 0.25
"""How often calls beyond their time, and unused objects, are looked for."""

SILENCE_SECONDS: Final = 5.0
"""An event loop that is silent for longer is blocked: all async calls wait."""

FLUSH_SECONDS: Final = 1.0
"""How long spans may take to be sent at the end, when calls have used up the grace."""

LEAVE_SECONDS: Final = 0.2
"""How long a sidecar that has left still refuses calls: plugins look every 50 ms who is there."""

ANSWER_SECONDS: Final = 1.0
"""How long cancelled calls may take to be answered: their bodies have `STOP_SECONDS` to let go."""

_EXIT_SECONDS: Final = 1.0

_LOOK_SECONDS: Final = 1.0
"""How often a sidecar looks whether it hangs."""

_STANDARD_ERROR: Final = 2

END_SECONDS: Final = (
    LEAVE_LOCK_SECONDS
    + LEAVE_SECONDS
    + ANSWER_SECONDS
    + SEND_SECONDS
    # Processes, and the thread that keeps them.
    + 2 * KILL_SECONDS
    + RAY_STOP_SECONDS
    # Shared objects, the tasks that are left, and the thread of the loop.
    + 3 * STEP_SECONDS
    + CLOSE_SECONDS
    + FLUSH_SECONDS
    + _EXIT_SECONDS
)
"""How long a sidecar may take to end beyond its grace, when each of its parts takes its time."""


class Sidecar:
    """One running sidecar.

    Example:
        >>> from sidecypher.host.settings import load_settings
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as home:
        ...     sidecar = Sidecar(load_settings({"home": home}, {}))
        ...     sidecar.start()
        ...     sidecar.stop()
    """

    def __init__(self, settings: Settings) -> None:
        """Load procedures and listen; nothing is answered before `start`.

        Raises:
            SidecypherError: A port is taken or the home cannot be written.
        """
        self._settings = settings
        credentials = load_credentials(settings.run_folder, settings.http_token_file)
        self._spans = export_spans() if settings.traces else None
        self._telemetry = Telemetry(self._spans.tracer if self._spans else None)
        self._loop = EventLoop()
        self._resources = Resources()
        self._telemetry.metrics.register(self._resources)
        client = BoltClient(partial(bolt_address, settings))
        self._resources.provide(client)
        self.loaded: Final[Loaded] = load(settings.procedures)
        self._stopping = threading.Event()
        limits = Limits(
            message_bytes=settings.max_line_bytes,
            lease_seconds=settings.stream_lease_seconds,
            projection_bytes=settings.worker_memory_mb * 1024 * 1024,
        )
        self._epochs = self._open_epochs()
        setup = Setup(
            [str(folder) for folder in settings.procedures],
            self.loaded.sources_for_workers,
            settings.worker_memory_mb,
            settings.max_line_bytes,
            settings.log_level,
            settings.log_format,
            settings.traces,
        )
        self._ray = RayCluster(setup, settings.ray_address)
        epochs = str(settings.run_folder / EPOCHS_FILE) if self._epochs else ""
        self._workers = ProcessWorkers(
            structs.replace(setup, epochs=epochs), settings.worker_processes
        )
        self._dispatcher = self._dispatch(limits)
        checks = {
            "event loop": self._silent_loop,
            "procedures": lambda: None if len(self._dispatcher.registry) else "none is loaded",
            "bodies": self._stuck_bodies,
            "workers": lambda: "they keep dying" if self._workers.crash_looping() else None,
            "not stopping": lambda: "it is stopping" if self._stopping.is_set() else None,
        }
        self._inspector = Inspector(
            self._dispatcher,
            self._loop,
            self._resources,
            folders=settings.procedures,
            loaded=self.loaded,
            checks=checks,
            on_reload=self._reloaded,
        )
        self._resources.provide(self._inspector)
        self._resources.provide(Steps(lambda: self._inspector.loaded.steps, self._resources))
        self._janitor = threading.Thread(
            target=self._run_housekeeping, name="sidecypher-janitor", daemon=True
        )
        api = HttpApi(
            self._dispatcher,
            token=credentials.http_token,
            limits=limits,
            telemetry=self._telemetry,
            calls=settings.http_calls,
            stall_seconds=settings.stream_lease_seconds,
        )
        operator = OperatorApi(
            self._inspector, token=credentials.http_token, telemetry=self._telemetry
        )
        authorize = TokenCheck(credentials.http_token, self._telemetry)
        panels = PanelApi(
            lambda: self._inspector.loaded.panels,
            self._loop,
            self._resources,
            authorize,
            home=settings.home,
        )
        console = Console(
            self._inspector,
            self._telemetry,
            checks,
            partial(running_sidecars, settings.run_folder),
        )
        self._backgrounds = Backgrounds(self._loop, self._resources, settings.home)
        self._webhooks = WebhookApi(
            lambda: self._inspector.loaded.webhooks,
            self._loop,
            self._resources,
            self._telemetry,
            self._stopping.is_set,
            home=settings.home,
        )
        self._http = HttpServer(
            [
                *health_routes(checks, self._telemetry.metrics),
                *api.routes(),
                *operator.routes(),
                *panels.routes(),
                *console.routes(),
                *self._webhooks.routes(),
            ],
            settings.http_port,
            self._telemetry,
            host=settings.http_host,
            authorize=authorize,
        )
        self._credentials = credentials
        self._tls_listener = self._listen()
        # Last: the file of the socket stays if another port is taken.
        self._unix_listener = self._open_socket()
        self._py4j = Py4JServer(
            self._dispatcher,
            listeners=[self._tls_listener, *([self._unix_listener] if self._unix_listener else [])],
            token=credentials.token,
            limits=limits,
            telemetry=self._telemetry,
        )
        self._telemetry.load_failures.set(len(self.loaded.failures))
        self._telemetry.open_calls.set_function(lambda: len(self._dispatcher.calls))
        self._telemetry.stuck_calls.set_function(lambda: self._dispatcher.calls.stuck)
        self._telemetry.worker_restarts.set_function(lambda: self._workers.restarts)
        self._telemetry.crash_looping.set_function(self._workers.crash_looping)
        self._telemetry.ray_tasks.set_function(lambda: self._ray.state().tasks)
        self._telemetry.ray_nodes.set_function(lambda: self._ray.state().nodes)
        self._telemetry.ray_cpus.set_function(lambda: self._ray.state().cpus)
        if self._spans is not None:
            spans = self._spans
            self._telemetry.lost_spans.set_function(lambda: spans.lost)
        self._membership: Membership | None = None

    def _dispatch(self, limits: Limits) -> Dispatcher:
        parts = (self.loaded.registry, self._loop, self._resources, self._telemetry, limits)
        folder = self._settings.record_dir
        if folder is None:
            return Dispatcher(*parts, workers=self._workers, ray=self._ray, epochs=self._epochs)
        logger().warning("failing calls are recorded, with all they hold")
        return RecordingDispatcher(
            *parts, folder=folder, workers=self._workers, ray=self._ray, epochs=self._epochs
        )

    def start(self) -> None:
        """Accept connections and tell plugins where."""
        sys.setswitchinterval(SWITCH_SECONDS)
        _log_modules(self.loaded)
        executors = {found.executor for found in self.loaded.registry}
        if "process" in executors:
            self._workers.start()
        if "ray" in executors:
            self._ray.start()
        self._py4j.start()
        self._http.start()
        self._backgrounds.run(self._inspector.loaded)
        self._janitor.start()
        try:
            self._announce()
        except BaseException:
            self.stop()
            raise
        logger().info(
            "sidecar ready",
            procedures=len(self.loaded.registry),
            port=self._tls_listener.port,
            http_port=self._http.port,
        )

    def _announce(self) -> None:
        self._membership = Membership(
            self._settings.run_folder,
            self._credentials.fingerprint,
            self._announcement(self.loaded),
        )
        if self._settings.listen_address is not None:
            listener = self._tls_listener
            write_remote_folder(
                self._settings.run_folder, self._credentials, listener.host, listener.port
            )

    def _announcement(self, loaded: Loaded) -> Announcement:
        return Announcement(
            generation=self._dispatcher.generation,
            pid=os.getpid(),
            host=self._tls_listener.host,
            port=self._tls_listener.port,
            http=self._http.port,
            procedures=len(loaded.registry),
            left_out=loaded.left_out,
            socket=str(self._unix_listener.path) if self._unix_listener else "",
        )

    def _listen(self) -> TlsListener:
        """Listen for plugins by TLS: those of this machine, or with `listen` those of another."""
        address = self._settings.listen_address
        if address is None:
            return TlsListener(self._settings.port, self._credentials.tls)
        host, port = address
        return TlsListener(port, remote_context(self._settings.run_folder), host)

    def _open_socket(self) -> UnixListener | None:
        """Listen on a unix socket, where the file system has some."""
        folder = self._settings.run_folder
        try:
            path = place_for_socket(folder, self._dispatcher.generation)
            try:
                return UnixListener(path)
            except OSError:
                remove_socket(folder, str(path))
                raise
        except OSError as error:
            logger().warning("no unix socket", reason=error.strerror)
            return None

    def _open_epochs(self) -> Epochs | None:
        """Open the epochs of the run folder, and make the rows void that earlier sidecars gave."""
        try:
            epochs = Epochs.open(self._settings.run_folder)
        except OSError as error:
            logger().warning("no rows are kept", reason=error.strerror)
            return None
        epochs.replace_all()
        share_epochs(epochs)
        return epochs

    def _reloaded(self, loaded: Loaded, changes: tuple[Change, ...]) -> None:
        """Tell what a reload has changed."""
        self._workers.reload(loaded.sources_for_workers)
        self._ray.reload(loaded.sources_for_workers)
        if self._epochs is not None:
            self._epochs.replace_all()
        self._backgrounds.run(loaded)
        self._telemetry.load_failures.set(len(loaded.failures))
        if self._membership is not None:
            self._membership.renew(self._announcement(loaded))
        _log_modules(loaded)
        for change in changes:
            logger().info(
                "procedure reloaded",
                module=change.module,
                procedure=change.name,
                state=change.state,
            )

    def _stuck_bodies(self) -> str | None:
        stuck = self._dispatcher.calls.stuck
        return f"{stuck} do not stop" if stuck > self._settings.stuck_calls_limit else None

    def _silent_loop(self) -> str | None:
        seconds = self._loop.silence()
        return f"it has not answered for {seconds:.0f} s" if seconds > SILENCE_SECONDS else None

    def hangs(self) -> str | None:
        """Return what is wrong where only a new process helps: the event loop or calls hang."""
        return self._silent_loop() or self._stuck_bodies()

    def _run_housekeeping(self) -> None:
        """Expire leases, end overdue calls and drop unused objects, several times a second."""
        while not self._stopping.wait(TIDY_SECONDS):
            for work in (
                self._inspector.run_housekeeping,
                self._dispatcher.calls.expire,
                self._loop.ping,
                self._telemetry.history.sample,
            ):
                try:
                    work()
                # Leases must keep expiring even if one task fails, for example for lack of threads.
                except Exception as error:  # noqa: BLE001
                    log_unexpected(error, work=work.__name__)

    def stop(self) -> None:
        """Drain, refuse new calls, let those in flight end within the grace, cancel the rest."""
        self._stopping.set()
        grace = Deadline.after(self._settings.shutdown_seconds)
        if self._resources.can_drain:
            # Before calls are refused: what is drained may need this very sidecar's procedures. The
            # other half is for the calls that begin meanwhile.
            self._drain(grace.remaining() / 2)
        seconds = grace.remaining()
        self._dispatcher.refuse_new()
        if self._membership is not None:
            self._membership.leave()
            # A connection that is closed instead leaves its caller in doubt whether the call began.
            time.sleep(LEAVE_SECONDS)
        self._await_calls(seconds)
        self._dispatcher.cancel_all()
        # Cancelled calls still send their answer.
        self._await_calls(ANSWER_SECONDS)
        self._py4j.stop()
        if self._unix_listener is not None:
            remove_socket(self._settings.run_folder, str(self._unix_listener.path))
        self._workers.stop()
        self._ray.stop()
        self._loop.stop([self._resources.stop])
        self._http.stop()
        if self._epochs is not None:
            unshare_epochs(self._epochs)
            self._epochs.close()
        if self._spans is not None:
            self._spans.stop(max(grace.remaining(), FLUSH_SECONDS))
        logger().info("sidecar stopped")

    def _drain(self, seconds: float) -> None:
        nothing = contextvars.Context()
        job = self._loop.submit(self._resources.drain, nothing, lambda _job: None)
        self._expire_while(lambda: not job.is_done, seconds)
        self._loop.cancel(job)

    def _await_calls(self, seconds: float) -> None:
        self._expire_while(lambda: self._dispatcher.calls.busy > 0, seconds)

    def _expire_while(self, goes_on: Callable[[], bool], seconds: float) -> None:
        patience = Deadline.after(seconds)
        while goes_on() and not patience.expired():
            # The janitor has ended; calls keep to their own time all the same.
            self._dispatcher.calls.expire()
            time.sleep(0.01)


def _log_modules(loaded: Loaded) -> None:
    for failure in loaded.failures:
        logger().error("module left out", module=failure.module, reason=failure.reason)
    for warning in loaded.warnings:
        logger().warning("module misbehaved", module=warning.module, what=warning.reason)


def serve(settings: Settings) -> None:
    """Run a sidecar until SIGTERM or SIGINT; a second signal ends the process at once.

    One that hangs for `hang_seconds` ends by itself, so that the supervisor, Docker or systemd
    starts another one.

    Raises:
        SidecypherError: It cannot start.
        SystemExit: It has hung.
    """
    configure_logging(settings.log_level, settings.log_format)
    faulthandler.enable(_STANDARD_ERROR)
    _raise_oom_score()
    # A dump of its memory would hold tokens and passwords.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sidecar = Sidecar(settings)
    # Freeze loaded objects: otherwise each collection during a batch scans them again.
    gc.collect()
    gc.freeze()
    with Wakeup() as wakeup:
        sidecar.start()
        problem = _await_end(sidecar, wakeup, settings.hang_seconds)
        for number in STOP_SIGNALS:
            signal.signal(number, _end_at_once)
        sidecar.stop()
    _give_up_output()
    if problem is not None:
        raise SystemExit(1)


def _raise_oom_score() -> None:
    """Have the kernel end this process before the database when the machine has no memory left.

    By itself it would choose the largest one, which is Neo4j; a worker goes before both.
    """
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("900", encoding="ascii")


def _await_end(sidecar: Sidecar, wakeup: Wakeup, hang_seconds: float) -> str | None:
    """Wait for a signal to stop; return what is wrong if the sidecar hangs instead."""
    if not hang_seconds:
        while not wakeup.stop_requested:
            wakeup.wait(None)
        return None
    well = time.monotonic()
    try:
        while not wakeup.stop_requested:
            # C code that keeps the interpreter lets no Python run that could notice it. A thread
            # without Python then writes where every other one is, and ends the process.
            faulthandler.dump_traceback_later(hang_seconds, exit=True, file=_STANDARD_ERROR)
            wakeup.wait(min(hang_seconds / 4, _LOOK_SECONDS))
            problem = sidecar.hangs()
            if problem is None:
                well = time.monotonic()
            elif time.monotonic() - well > hang_seconds:
                logger().error("sidecar hangs", reason=problem)
                return problem
    finally:
        faulthandler.cancel_dump_traceback_later()
    return None


def _end_at_once(number: int, _frame: FrameType | None) -> None:
    os._exit(128 + number)


def _give_up_output() -> None:
    """Let what a full disk did not take not become the exit code: the log, what bodies print."""
    for name in ("stderr", "stdout"):
        try:
            getattr(sys, name).flush()
        except OSError:
            setattr(sys, name, None)
