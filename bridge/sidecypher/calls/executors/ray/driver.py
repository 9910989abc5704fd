"""The process that speaks to Ray for a sidecar, and runs its calls on the cluster.

Started as `python -m sidecypher.calls.executors.ray.driver`. It ends when the sidecar does, or when
it has lost the cluster.
"""

import os
import secrets
import sys
from multiprocessing.connection import Connection

from sidecypher.calls.executors.pool_main import end_with
from sidecypher.calls.executors.ray.messages import LOCAL, DriverSetup
from sidecypher.protocol import envelope


def main() -> None:
    """Serve the sidecar that started this process."""
    channel, parent = map(int, sys.argv[1:3])
    end_with(parent)
    with Connection(channel) as connection:
        setup = envelope.read(connection.recv_bytes(), DriverSetup)
        os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_DEDUP_LOGS="0", RAY_COLOR_PREFIX="0")
        if setup.address == LOCAL:
            os.environ.update(
                # Otherwise everything that Ray starts listens on all addresses of the machine.
                RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER="0",
                # Otherwise Ray writes one to the account's home, where others may read it.
                RAY_AUTH_MODE="token",
                RAY_AUTH_TOKEN=secrets.token_hex(32),
            )
        # Ray reads these variables when it is imported.
        from sidecypher.calls.executors.ray.session import serve  # noqa: PLC0415

        serve(connection, setup)


if __name__ == "__main__":
    main()
