"""One supervised process and its restarts."""

import subprocess
import time
from dataclasses import dataclass

import psutil

from sidecypher.host.signals import how_ended
from sidecypher.runtime.errors import ServerFailed
from sidecypher.runtime.process.spec import (
    ProcessSpec,
    end_processes,
    launch_process,
    log_size,
    log_tail,
    sweep_session,
)
from sidecypher.runtime.process.state import ProcessState, Status, start_of
from sidecypher.telemetry.calls import logger


@dataclass(frozen=True, slots=True)
class Backoff:
    """Delays before a process is restarted.

    Attributes:
        first: Seconds before the first restart; doubled before each further one.
        longest: Longest delay, in seconds.
        forget_after: Seconds of running after which the delays begin with `first` again.
    """

    first: float = 0.2
    longest: float = 5.0
    forget_after: float = 30.0

    def next(self, last: float, ran: float) -> float:
        """Return the next delay, after the last delay and the seconds the process ran since."""
        if last == 0 or ran >= self.forget_after:
            return self.first
        return min(last * 2, self.longest)


class Child:
    """One process that is started, monitored and restarted."""

    def __init__(self, spec: ProcessSpec, backoff: Backoff) -> None:
        self.spec = spec
        self.status: Status = "starting"
        self._backoff = backoff
        self._process: subprocess.Popen[bytes] | None = None
        self._start = ""
        self._restarts = 0
        self._was_ready = False
        self._launched_at = 0.0
        self._log_mark = 0
        self._delay = 0.0
        self._restart_at = 0.0
        self._probe_at = 0.0
        self._failed_probes = 0

    @property
    def state(self) -> ProcessState:
        """Its entry in the state file."""
        pid = self._process.pid if self._process else 0
        return ProcessState(
            self.spec.name,
            pid,
            self._start,
            self.status,
            self._restarts,
            self.spec.stop_grace,
            self.spec.stops_last,
        )

    @property
    def process(self) -> psutil.Process | None:
        """The process, or None if it has ended."""
        if self._process is None or self._process.poll() is not None:
            return None
        return psutil.Process(self._process.pid)

    def launch(self) -> None:
        """Start the process.

        Raises:
            ServerFailed: If its command cannot be run, and it was never ready before.
        """
        self._launched_at = time.monotonic()
        try:
            self._log_mark = log_size(self.spec.log_file)
            self._process = launch_process(self.spec)
        except OSError as error:
            self._lost(
                f"cannot be started: {error.strerror}",
                hint="Check that its command is installed and may be executed.",
            )
            return
        self._start = _start(self._process.pid)
        self.status = "starting"

    def check(self) -> None:
        """Check once whether the process is ready, has ended, hangs, or is due for a restart.

        Raises:
            ServerFailed: If it ended or hung and is not to be started again.
        """
        now = time.monotonic()
        if self._process is None:
            if now >= self._restart_at:
                self._restarts += 1
                self.launch()
        elif (exit_code := self._process.poll()) is not None:
            self._lost(how_ended(exit_code))
        elif self.status == "starting":
            self._await_ready(self._process.pid, now)
        elif self.spec.hang_seconds and now >= self._probe_at:
            self._probe(self._process, now)

    def _await_ready(self, pid: int, now: float) -> None:
        if self._is_ready(pid):
            self.status = "ready"
            self._was_ready = True
            self._failed_probes = 0
            self._probe_at = now + self._probe_seconds
        elif now - self._launched_at > self.spec.ready_timeout:
            process = self.process
            if process is not None:
                end_processes({process: self.spec.stop_grace})
            self._lost(f"was not ready within {self.spec.ready_timeout:g} s")

    @property
    def _probe_seconds(self) -> float:
        return max(self.spec.hang_seconds / _PROBES, _READY_POLL)

    def _probe(self, process: subprocess.Popen[bytes], now: float) -> None:
        self._probe_at = now + self._probe_seconds
        if self.spec.answers(process.pid):
            self._failed_probes = 0
            return
        self._failed_probes += 1
        # Counted, not measured: a suspended machine has probed nothing meanwhile. The first failed
        # probe may come right after the hang has begun.
        if self._failed_probes > _PROBES:
            end_processes({psutil.Process(process.pid): 0.0})
            self._lost(f"did not answer for {self.spec.hang_seconds:g} s")

    def _is_ready(self, pid: int) -> bool:
        try:
            return self.spec.ready(pid)
        except OSError:
            # For example, this program has too many open files for the moment.
            return False

    def _lost(self, what: str, hint: str = "") -> None:
        if self._process is not None:
            sweep_session(self._process.pid)
        self._forget()
        if not (self.spec.restart and self._was_ready):
            self.status = "failed"
            raise ServerFailed(
                f"`{self.spec.name}` {what}",
                hint=hint or f"Read its last lines, or all of {self.spec.log_file.name}.",
                details={
                    "process": self.spec.name,
                    "log_tail": log_tail(self.spec.log_file, self._log_mark),
                },
            )
        logger().warning("process restarts", process=self.spec.name, reason=what)
        now = time.monotonic()
        self._delay = self._backoff.next(self._delay, now - self._launched_at)
        self._restart_at = now + self._delay
        self.status = "restarting"

    def stopped(self) -> None:
        """Drop the process: it has ended, or cannot be ended."""
        self._forget()
        self.status = "stopped"

    def _forget(self) -> None:
        if self._process is not None:
            # Otherwise Popen would regard a process that psutil has collected as running.
            self._process.poll()
        self._process = None

    @property
    def seconds_to_check(self) -> float | None:
        """Seconds until the next check; None if only the end of the process matters."""
        if self._process is None:
            return max(0.0, self._restart_at - time.monotonic())
        if self.status == "starting":
            return _READY_POLL
        return max(0.0, self._probe_at - time.monotonic()) if self.spec.hang_seconds else None


_READY_POLL = 0.05  # seconds between two checks whether a process is ready
_PROBES = 6  # probes of a ready process within its `hang_seconds`


def _start(pid: int) -> str:
    try:
        return start_of(pid)
    except psutil.NoSuchProcess:
        return ""
