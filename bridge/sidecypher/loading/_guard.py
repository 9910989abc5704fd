"""Import one module so that it can neither hang the process nor change its shared state.

The import runs on its own thread, because Python cannot stop an import; one that does not end
keeps its thread. Output of a module goes to standard error. A changed working directory or
locale is restored, and signal handlers are not set.
"""

import contextlib
import locale
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final, Generic, TypeVar

_Handler = Callable[[int, FrameType | None], Any] | int | signal.Handlers | None
_Value = TypeVar("_Value")

_import_lock: Final = threading.Lock()
"""Held while a module is imported: the guarded state belongs to the whole process."""


@dataclass(frozen=True, slots=True)
class ImportOutcome(Generic[_Value]):
    """Outcome of an import; without value and error it did not end in time.

    Attributes:
        value: Value that it returned.
        error: Error that it raised.
        warnings: Its changes to the process, in sentences that begin with `it`.
    """

    value: _Value | None
    error: BaseException | None
    warnings: tuple[str, ...]


def guarded(work: Callable[[], _Value], seconds: float) -> ImportOutcome[_Value]:
    """Run an import, for at most so many seconds.

    Args:
        work: Imports a module and inspects it.
        seconds: How long to wait for it. Native code that never releases the interpreter's lock
            can block for longer.

    Example:
        >>> guarded(lambda: os.name, 1.0).value == os.name
        True
    """
    thread = _Import(work)
    warnings: list[str] = []
    with (
        _import_lock,
        _restore_directory(warnings),
        _restore_locale(warnings),
        _ignore_handlers(thread, warnings),
        _redirect_output(thread, warnings),
    ):
        thread.start()
        thread.join(seconds)
        value, error = thread.value, thread.error
    return ImportOutcome(value, error, tuple(warnings))


class _Import(threading.Thread, Generic[_Value]):
    """Thread that imports a module and stores the outcome."""

    def __init__(self, work: Callable[[], _Value]) -> None:
        super().__init__(name="sidecypher-import", daemon=True)
        self._work = work
        self.value: _Value | None = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """Import the module."""
        try:
            self.value = self._work()
        # SystemExit too: a module that calls `sys.exit()` must not end the sidecar.
        except BaseException as error:  # noqa: BLE001
            self.error = error


@contextlib.contextmanager
def _restore_directory(warnings: list[str]) -> Iterator[None]:
    before = _directory()
    try:
        yield
    finally:
        if before is not None and _directory() != before:
            os.chdir(before)
            warnings.append("it changed the working directory, which was changed back")


def _directory() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109 - a Path would resolve nothing and cost more
    except FileNotFoundError:
        return None


@contextlib.contextmanager
def _restore_locale(warnings: list[str]) -> Iterator[None]:
    before = locale.setlocale(locale.LC_ALL)
    try:
        yield
    finally:
        if locale.setlocale(locale.LC_ALL) != before:
            locale.setlocale(locale.LC_ALL, before)
            warnings.append("it changed the locale, which was changed back")


@contextlib.contextmanager
def _ignore_handlers(thread: threading.Thread, warnings: list[str]) -> Iterator[None]:
    # Outside of the main thread Python refuses handlers with an error, which would end the import.
    original = signal.signal

    def guarded_signal(signalnum: int, handler: _Handler) -> _Handler:
        if threading.current_thread() is not thread:
            return original(signalnum, handler)
        name = signal.Signals(signalnum).name
        warnings.append(f"it set a handler for {name}, which was ignored")
        return signal.getsignal(signalnum)

    signal.signal = guarded_signal
    try:
        yield
    finally:
        signal.signal = original


@contextlib.contextmanager
def _redirect_output(thread: threading.Thread, warnings: list[str]) -> Iterator[None]:
    original = sys.stdout
    watched = _Output(original, thread)
    sys.stdout = watched
    try:
        yield
    finally:
        sys.stdout = original
        if watched.used:
            warnings.append("it printed to standard output, which went to standard error")


class _Output:
    """Standard output for all threads except one, which writes to standard error.

    Attributes:
        used: Whether that thread has printed.
    """

    def __init__(self, original: Any, thread: threading.Thread) -> None:
        self._original = original
        self._thread = thread
        self.used = False

    def write(self, text: str) -> int:
        """Write to standard output, or to standard error on the import's thread."""
        if threading.current_thread() is self._thread:
            self.used = True
            return sys.stderr.write(text)
        written: int = self._original.write(text)
        return written

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)
