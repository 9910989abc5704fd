"""Interrupting a thread: in an author's code only."""

import subprocess
import sys
import threading
import time

import pytest

from sidecypher.sdk import interruption
from sidecypher.sdk.interruption import CallInterrupted, InterruptibleSection


class Victim:
    """A thread that enters and leaves a section, and notes what reached it."""

    def __init__(self, body):
        self.section = InterruptibleSection()
        self.inside = threading.Event()
        self.outcomes = []
        self._body = body
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        try:
            self.outcomes.append(self.section.call(self._body, self))
        except CallInterrupted:
            self.outcomes.append("interrupted")

    def __enter__(self):
        self._thread.start()
        assert self.inside.wait(10)
        return self

    def __exit__(self, *_):
        self._thread.join(10)
        assert not self._thread.is_alive()


def spin(victim):
    victim.inside.set()
    while True:
        pass


def test_a_loop_without_end_ends():
    """A body that only computes is stopped."""
    with Victim(spin) as victim:
        assert victim.section.interrupt()

    assert victim.outcomes == ["interrupted"]


def test_a_body_is_interrupted_once():
    """A second interrupt does nothing, so that clean-up runs undisturbed."""

    def body(victim):
        try:
            spin(victim)
        finally:
            again.wait(10)
            victim.outcomes.append("cleaned up")

    again = threading.Event()
    with Victim(body) as victim:
        assert victim.section.interrupt()
        assert not victim.section.interrupt()
        again.set()

    assert victim.outcomes == ["cleaned up", "interrupted"]


def test_except_exception_does_not_stop_it():
    """A loop that tries again after every `Exception` ends all the same."""

    def body(victim):
        while True:
            try:
                spin(victim)
            except Exception:  # noqa: BLE001
                continue

    with Victim(body) as victim:
        victim.section.interrupt()

    assert victim.outcomes == ["interrupted"]


def test_a_swallowed_interrupt_still_ends_the_call():
    """A body that swallows the exception and returns has no result all the same."""

    def body(victim):
        try:
            spin(victim)
        except BaseException:  # noqa: BLE001
            return "as if nothing had happened"

    with Victim(body) as victim:
        victim.section.interrupt()

    assert victim.outcomes == ["interrupted"]


def test_nobody_inside_is_not_interrupted():
    """Before and after a body, and while it is shielded, an interrupt does nothing."""
    section = InterruptibleSection()
    assert not section.interrupt()

    def body():
        section.leave()
        assert not section.interrupt()
        section.enter()
        return "done"

    assert section.call(body) == "done"
    assert not section.interrupt()


def test_a_thread_cannot_leave_its_section_after_an_interrupt():
    """The sidecar's own code within a body does not begin once an interrupt is on its way."""
    shut = []

    def body(victim):
        victim.inside.set()
        try:
            while True:
                time.sleep(0.001)
        except CallInterrupted:
            with pytest.raises(CallInterrupted):
                victim.section.leave()
            shut.append("refused")
            raise

    with Victim(body) as victim:
        victim.section.interrupt()

    assert shut == ["refused"]


def test_what_a_body_raises_is_raised():
    """Without an interrupt the section changes nothing."""

    def body():
        raise ValueError("own")

    with pytest.raises(ValueError, match="own"):
        InterruptibleSection().call(body)


def count(to):
    total = 0
    for number in range(to):
        total += number
    return total


def test_an_interrupt_on_its_way_is_waited_for(monkeypatch):
    """A body that ends between the decision to interrupt and its exception ends interrupted."""
    decided, let_go = threading.Event(), threading.Event()
    raise_in = interruption._raise_in

    def slowly(thread, kind):
        if kind is not None:
            decided.set()
            let_go.wait(10)
        raise_in(thread, kind)

    monkeypatch.setattr(interruption, "_raise_in", slowly)
    ended = threading.Event()

    def body(victim):
        victim.inside.set()
        decided.wait(10)
        ended.set()
        return "result"

    with Victim(body) as victim:
        other = threading.Thread(target=victim.section.interrupt)
        other.start()
        assert ended.wait(10)
        assert victim.outcomes == []
        let_go.set()
        other.join(10)

    assert victim.outcomes == ["interrupted"]


@pytest.fixture
def fast_switching():
    """Let threads take turns as often as they can, so that they meet everywhere."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("fast_switching")
@pytest.mark.parametrize(
    ("body", "rounds"),
    [(lambda: count(1_000), 7_000), (lambda: time.sleep(0), 3_000)],
    ids=["busy", "idle"],
)
def test_ten_thousand_interrupts_leave_no_body(body, rounds, monkeypatch):
    """However close to the end of a body an interrupt comes, nothing of it reaches our code."""
    raise_in = interruption._raise_in

    def slowly(thread, kind):
        # The moment between the decision and its exception is the one that matters.
        time.sleep(0)
        raise_in(thread, kind)

    monkeypatch.setattr(interruption, "_raise_in", slowly)
    seen = {"result": 0, "interrupted": 0, "leaked": 0}
    current = [InterruptibleSection()]
    over = threading.Event()

    def interrupt():
        while not over.is_set():
            current[0].interrupt()

    def serve():
        for _ in range(rounds):
            try:
                section = current[0] = InterruptibleSection()
                try:
                    section.call(body)
                    seen["result"] += 1
                except CallInterrupted:
                    seen["interrupted"] += 1
                count(50)
            except CallInterrupted:
                seen["leaked"] += 1

    threads = [threading.Thread(target=serve), threading.Thread(target=interrupt)]
    for thread in threads:
        thread.start()
    threads[0].join(100)
    over.set()
    threads[1].join(10)

    assert seen["leaked"] == 0
    assert seen["result"] + seen["interrupted"] == rounds
    assert seen["interrupted"] > 0


PROFILED = """
import sys, threading
from sidecypher.sdk.interruption import CallInterrupted, InterruptibleSection

section, inside = InterruptibleSection(), threading.Event()

def body():
    inside.set()
    try:
        while True:
            pass
    except BaseException:
        return

def run():
    try:
        section.call(body)
    except CallInterrupted:
        print("interrupted")

thread = threading.Thread(target=run)
thread.start()
inside.wait()
section.interrupt()
thread.join()
sys.setprofile(lambda *_: None)
(lambda: None)()
sys.setprofile(None)
print("profiled")
"""


def test_a_process_can_be_profiled_after_an_interrupt():
    """No interrupt stays noted: Python 3.11 would begin each profiled function for ever."""
    done = subprocess.run(
        [sys.executable, "-c", PROFILED], capture_output=True, text=True, timeout=30, check=True
    )

    assert done.stdout.split() == ["interrupted", "profiled"]
