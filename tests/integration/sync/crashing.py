"""`sidecypher sync run`, killed at a point: `python crashing.py POINT COUNT`.

After the point was passed COUNT times, the process kills itself as `kill -9` does.
"""

import functools
import itertools
import os
import signal
import sys

from sidecypher.cli.main import main
from sidecypher_procedures.sync.partition import Partition
from sidecypher_procedures.sync.writing import PartitionWriter

POINTS = {
    "claimed": (PartitionWriter, "claim"),
    "read": (Partition, "_read"),
    "committed": (PartitionWriter, "append"),
    "acknowledged": (Partition, "_append"),
}
"""By name, the method after which the process dies."""


def crash_after(owner, name, count):
    """Let the process die when a method has done something for this many times."""
    method = getattr(owner, name)
    passed = itertools.count(1)

    @functools.wraps(method)
    async def dying(*arguments):
        result = await method(*arguments)
        # A read that has found nothing is no step.
        if result != [] and next(passed) == count:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, name, dying)


def acknowledge_first():
    """Do what a dual write does that trusts in no crash: acknowledge, then write."""
    append = PartitionWriter.append

    async def late(writer, runs):
        partition = late.partitions[id(writer)]
        async with partition._redis.pipeline() as pipe:
            for entries in runs.values():
                partition._acknowledge(pipe, entries)
            await pipe.execute()
        await late.point()
        return await append(writer, runs)

    async def point():
        return True

    late.point = point
    late.partitions = {}
    created = Partition.__init__

    def remember(partition, *arguments, **named):
        created(partition, *arguments, **named)
        late.partitions[id(partition._writer)] = partition

    Partition.__init__ = remember
    PartitionWriter.append = late
    return late


if __name__ == "__main__":
    point, count = sys.argv[1], int(sys.argv[2])
    if point == "naive":
        crash_after(acknowledge_first(), "point", count)
    else:
        crash_after(*POINTS[point], count)
    sys.argv[1:] = ["sync", "run"]
    main()
