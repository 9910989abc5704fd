"""One supervised process through its lives."""

import subprocess
import time
from dataclasses import dataclass

import psutil

from sidecypher.runtime.errors import ServerFailed
from sidecypher.runtime.process.spec import (
    ProcessSpec,
    end_processes,
    launch_process,
    log_size,
    log_tail,
    sweep_session,
)
from sidecypher.runtime.process.state import ProcessState, Status
from sidecypher.telemetry.calls import logger


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait before a process is started again.

    Attributes:
        first: Seconds before the first restart; doubled before each further one.
        longest: Seconds it never waits longer than.
        forget_after: Seconds of life after which the waits begin with `first` again.
    """

    first: float = 0.2
    longest: float = 5.0
    forget_after: float = 30.0

    def next(self, last: float, lived: float) -> float:
        """Seconds to wait now, after the last wait and the life since then."""
        if last == 0 or lived >= self.forget_after:
            return self.first
        return min(last * 2, self.longest)


class Child:
    """Runs one process, notices its end and starts it again."""

    def __init__(self, spec: ProcessSpec, backoff: Backoff) -> None:
        self.spec = spec
        self.status: Status = "starting"
        self._backoff = backoff
        self._process: subprocess.Popen[bytes] | None = None
        self._create_time = 0.0
        self._restarts = 0
        self._was_ready = False
        self._launched_at = 0.0
        self._log_mark = 0
        self._wait = 0.0
        self._due = 0.0
        self._ask_at = 0.0
        self._unanswered = 0

    @property
    def state(self) -> ProcessState:
        """What is written down about it."""
        pid = self._process.pid if self._process else 0
        return ProcessState(
            self.spec.name,
            pid,
            self._create_time,
            self.status,
            self._restarts,
            self.spec.stop_grace,
            self.spec.stops_last,
        )

    @property
    def process(self) -> psutil.Process | None:
        """The process while it has not ended."""
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
        self._create_time = _create_time(self._process.pid)
        self.status = "starting"

    def check(self) -> None:
        """Look after the process once: is it ready, has it ended, is its restart due?

        Raises:
            ServerFailed: If it ended or hung and is not to be started again.
        """
        now = time.monotonic()
        if self._process is None:
            if now >= self._due:
                self._restarts += 1
                self.launch()
        elif (exit_code := self._process.poll()) is not None:
            self._lost(f"ended with exit code {exit_code}")
        elif self.status == "starting":
            self._await_ready(self._process.pid, now)
        elif self.spec.hang_seconds and now >= self._ask_at:
            self._ask(self._process, now)

    def _await_ready(self, pid: int, now: float) -> None:
        if self._is_ready(pid):
            self.status = "ready"
            self._was_ready = True
            self._unanswered = 0
            self._ask_at = now + self._ask_seconds
        elif now - self._launched_at > self.spec.ready_timeout:
            process = self.process
            if process is not None:
                end_processes({process: self.spec.stop_grace})
            self._lost(f"was not ready within {self.spec.ready_timeout:g} s")

    @property
    def _ask_seconds(self) -> float:
        return max(self.spec.hang_seconds / _QUESTIONS, _READY_POLL)

    def _ask(self, process: subprocess.Popen[bytes], now: float) -> None:
        self._ask_at = now + self._ask_seconds
        if self.spec.answers(process.pid):
            self._unanswered = 0
            return
        self._unanswered += 1
        # Counted, not measured: a machine that was suspended has asked nothing meanwhile. The first
        # question without an answer may come right after the hang has begun.
        if self._unanswered > _QUESTIONS:
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
        self._wait = self._backoff.next(self._wait, now - self._launched_at)
        self._due = now + self._wait
        self.status = "restarting"

    def stopped(self) -> None:
        """Forget the process: it has ended, or cannot be ended."""
        self._forget()
        self.status = "stopped"

    def _forget(self) -> None:
        if self._process is not None:
            # Otherwise Popen takes a process that psutil has collected for one that runs.
            self._process.poll()
        self._process = None

    @property
    def patience(self) -> float | None:
        """Seconds until it must be looked after again; None when only its end matters."""
        if self._process is None:
            return max(0.0, self._due - time.monotonic())
        if self.status == "starting":
            return _READY_POLL
        return max(0.0, self._ask_at - time.monotonic()) if self.spec.hang_seconds else None


_READY_POLL = 0.05  # seconds between two questions whether a process is ready
_QUESTIONS = 6  # how often a ready process is asked within its `hang_seconds`


def _create_time(pid: int) -> float:
    try:
        return psutil.Process(pid).create_time()
    except psutil.NoSuchProcess:
        return 0.0
