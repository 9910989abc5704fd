"""Interrupt a thread from another one: only in an author's code, never in the sidecar's own.

CPython can raise an exception in another thread, at a point nobody chooses. Here the point is
bounded. A thread puts a token into its `Door` when it goes into an author's code, and takes it out
when it comes back. Who wants to interrupt it takes the token too; only who gets it may go on. So
either the thread is outside and nothing is raised, or it is inside and waits at the door for what
is on its way.
"""

import ctypes
import time
from collections.abc import Callable
from threading import get_ident
from typing import Any, Final, NoReturn, TypeVar

_Result = TypeVar("_Result")
_PAUSE_SECONDS: Final = 0.0001


class CallInterrupted(BaseException):
    """The call of this body is over; `except Exception` does not stop it, `finally` runs."""


class Door:
    """Where one thread goes into an author's code and comes back; it is interrupted once at most.

    Example:
        >>> Door().call(str.upper, "a")
        'A'
    """

    __slots__ = ("_inside", "_is_sent")

    def __init__(self) -> None:
        # A list, because taking from it is one step that no other thread can divide.
        self._inside: list[int] = []
        self._is_sent = False

    def call(self, function: Callable[..., _Result], *arguments: Any) -> _Result:
        """Call an author's function, which may be interrupted.

        Raises:
            CallInterrupted: It was, even when it has swallowed that; nothing is on its way then.
        """
        # Spelled out instead of `open` and `shut`: every call of a plain body pays for it.
        self._inside.append(get_ident())
        try:
            return function(*arguments)
        finally:
            try:
                self._inside.pop()
            except IndexError:
                self._give_way()

    def open(self) -> None:
        """Go in; from now on the current thread may be interrupted."""
        self._inside.append(get_ident())

    def shut(self) -> None:
        """Come back, for good or for as long as the sidecar's own code runs within a body.

        Raises:
            CallInterrupted: Somebody has decided to interrupt.
        """
        try:
            self._inside.pop()
        except IndexError:
            self._give_way()

    def interrupt(self) -> bool:
        """Raise `CallInterrupted` in the thread that is inside; tell whether there was one."""
        if self._is_sent:
            return False
        try:
            thread = self._inside.pop()
        except IndexError:
            return False
        try:
            _raise_in(thread, CallInterrupted)
        finally:
            self._is_sent = True
        return True

    def _give_way(self) -> NoReturn:
        """Wait until the exception is pending, so that it cannot come any later."""
        while not self._is_sent:
            time.sleep(_PAUSE_SECONDS)
        _raise_in(get_ident(), None)
        raise CallInterrupted


def _raise_in(thread: int, kind: type[BaseException] | None) -> None:
    """Make an exception pending in a thread; None takes back what is pending."""
    exception = None if kind is None else ctypes.py_object(kind)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), exception)
