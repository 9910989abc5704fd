"""Faults one after the other, and what they excuse."""

import math
import threading
import time
from dataclasses import dataclass

import psutil
from fix_waiting import wait_until

_OLD_ENOUGH = 10.0
"""Seconds after which a worker process has surely begun to serve."""

_NOTICED = 1.0
"""Seconds in which the plugin has surely noticed that all is well again."""


@dataclass
class Fault:
    """Something that was done to the system.

    Attributes:
        codes: What calls may fail with that were made between begin and end.
        ended: When all was well again, as far as the plugin knows.
    """

    name: str
    codes: frozenset[str]
    begun: float
    ended: float = math.inf


class Saboteur(threading.Thread):
    """Kills, breaks and freezes, at random moments, and waits for the recovery each time.

    Attributes:
        faults: What it has done.
        error: Why it gave up.
    """

    def __init__(self, server, behind, chance):
        super().__init__(daemon=True)
        self.faults = []
        self.error = None
        self._server = server
        self._behind = behind
        self._chance = chance
        self._over = threading.Event()
        self._workers = set()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        """Recover from the last fault, and do no more."""
        self._over.set()
        self.join()

    def workers_left(self):
        """Return the worker processes of killed sidecars, and killed ones, that still run."""
        return [each for each in self._workers if _runs(each)]

    def run(self):
        ways = [
            (self.kill_sidecar, {"SC-210", "SC-212"}),
            (self._kill_worker, {"SC-220"}),
            (self._drop, {"SC-207", "SC-210", "SC-212"}),
            (self._reset, {"SC-207", "SC-210", "SC-212"}),
            (self._freeze, {"SC-210"}),
        ]
        left = []
        try:
            while not self._over.wait(self._chance.uniform(0.2, 1.5)):
                # In rounds, so that none is left out for long.
                left = left or self._chance.sample(ways, len(ways))
                way, codes = left.pop()
                fault = Fault(way.__name__.strip("_"), frozenset(codes), time.monotonic())
                self.faults.append(fault)
                way()
                fault.ended = time.monotonic() + _NOTICED
        except BaseException as error:  # noqa: BLE001 - the test raises it
            self.error = error

    def kill_sidecar(self):
        """Kill the supervised sidecar, and wait until another one serves in its place."""
        sidecar = self._server.process("sidecar")
        self._workers.update(_workers(sidecar))
        sidecar.kill()
        self._server.await_successor(sidecar.pid)
        self._server.await_sidecar()

    def _kill_worker(self):
        sidecar = self._chance.choice(
            [self._server.process("sidecar"), self._behind.sidecar.process]
        )
        for worker in _workers(sidecar):
            if time.time() - worker.create_time() > _OLD_ENOUGH:
                self._workers.add(worker)
                worker.kill()
                wait_until(lambda: not _runs(worker))  # noqa: B023 - it is over before the next one
                return

    def _drop(self):
        self._break(self._behind.proxy.drop)

    def _reset(self):
        self._break(self._behind.proxy.reset)

    def _break(self, end):
        end()
        wait_until(lambda: self._behind.proxy.connections)

    def _freeze(self):
        sidecar = self._server.process("sidecar")
        sidecar.suspend()
        self._over.wait(self._chance.uniform(0.1, 0.6))
        sidecar.resume()


def _workers(sidecar):
    return [each for each in sidecar.children() if _is_worker(each)]


def _is_worker(process):
    try:
        return "sidecypher.calls.executors.pool_main" in process.cmdline()
    except psutil.NoSuchProcess:
        return False


def _runs(process):
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
