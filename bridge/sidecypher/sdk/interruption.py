"""Interrupts of a thread by another one: only in an author's code, never in the sidecar's own.

CPython can raise an exception in another thread, at any instruction. Here only an interruptible
section can be interrupted. A thread that enters its section puts down a token, and takes it back
when it leaves. To interrupt it, another thread takes the token first. So if the thread gets its
token back, no exception is raised. If it does not, it waits until the exception has come.
"""

import ctypes
import time
from collections.abc import Callable
from threading import get_ident
from typing import Any, Final, NoReturn, TypeVar

_Result = TypeVar("_Result")
_PAUSE_SECONDS: Final = 0.0001


class CallInterrupted(BaseException):
    """The call of this function is over; `except Exception` does not stop it, `finally` runs."""


class InterruptibleSection:
    """The part of a thread's work that may be interrupted, once at most.

    Example:
        >>> InterruptibleSection().call(str.upper, "a")
        'A'
    """

    __slots__ = ("_is_sent", "_token")

    def __init__(self) -> None:
        # A list, because taking from it is one step that no other thread can divide.
        self._token: list[int] = []
        self._is_sent = False

    def call(self, function: Callable[..., _Result], *arguments: Any) -> _Result:
        """Call an author's function, which may be interrupted.

        Raises:
            CallInterrupted: It was interrupted, even if it has caught that exception.
        """
        # Not with `enter` and `leave`: every call of a plain function would pay for two more calls.
        self._token.append(get_ident())
        try:
            return function(*arguments)
        finally:
            try:
                self._token.pop()
            except IndexError:
                self._await_interrupt()

    def enter(self) -> None:
        """Allow interrupts of the current thread from now on."""
        self._token.append(get_ident())

    def leave(self) -> None:
        """Shield the current thread from interrupts, until `enter`.

        Raises:
            CallInterrupted: Another thread has begun to interrupt this one.
        """
        try:
            self._token.pop()
        except IndexError:
            self._await_interrupt()

    def interrupt(self) -> bool:
        """Raise `CallInterrupted` in the section's thread; return whether one was inside."""
        if self._is_sent:
            return False
        try:
            thread = self._token.pop()
        except IndexError:
            return False
        try:
            _raise_in(thread, CallInterrupted)
        finally:
            self._is_sent = True
        return True

    def _await_interrupt(self) -> NoReturn:
        """Wait until the exception has come, so that it cannot come later."""
        while not self._is_sent:
            time.sleep(_PAUSE_SECONDS)
        # A pending one comes where a function begins. Clearing it instead would leave Python's note
        # that a thread has one, and then 3.11 begins the functions of a profiled thread for ever.
        _begin()
        raise CallInterrupted


def _begin() -> None:
    pass


def _raise_in(thread: int, kind: type[BaseException]) -> None:
    """Make an exception pending in a thread."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(kind))
