"""Messages between the sidecar and its driver process: JSON, not pickles."""

from typing import Final

import msgspec

from sidecypher.calls.executors.pool_messages import Outcome, Setup, Task
from sidecypher.sdk.registry import RayOptions

LOCAL: Final = "local"
"""Address for a cluster on this machine that begins and ends with the sidecar."""


class DriverSetup(msgspec.Struct, frozen=True):
    """First message to a driver.

    Attributes:
        setup: What the nodes load, limits, and settings for logs and traces.
        address: Address of the cluster, or `LOCAL`.
        folder: Folder for the files of a local cluster.
    """

    setup: Setup
    address: str
    folder: str


class Submit(msgspec.Struct, frozen=True, tag=True):
    """A task to run.

    Attributes:
        is_batch: Whether its argument is a list of rows that may be run in parts.
    """

    task: Task
    options: RayOptions
    is_batch: bool


class Cancel(msgspec.Struct, frozen=True, tag=True):
    """Request to end a task."""

    call_id: str


class Stop(msgspec.Struct, frozen=True, tag=True):
    """Request to leave the cluster and to end."""


class Status(msgspec.Struct, frozen=True, tag=True):
    """State of the cluster, which the driver sends again and again.

    Attributes:
        cpus: Number of CPUs of all nodes.
    """

    nodes: int
    cpus: float


class Away(msgspec.Struct, frozen=True, tag=True):
    """Last message of a driver that has no cluster."""

    reason: str
    hint: str = ""


Request = Submit | Cancel | Stop
Report = Outcome | Status | Away
