"""`sidecypher sync postgres run`, killed at a point: `python crashing.py POINT COUNT`.

After the point was passed COUNT times, the process kills itself as `kill -9` does.
"""

import functools
import itertools
import os
import signal
import sys

from sidecypher.cli.main import main
from sidecypher_procedures.sync.postgres.batch import Batch
from sidecypher_procedures.sync.postgres.queue import Queue

POINTS = {
    "claimed": (Queue, "claim"),
    "locked": (Queue, "gaps"),
    "appended": (Queue, "delete"),
    "deleted": (Batch, "write"),
}
"""By name, the method after which the process dies; `appended` is before the rows are deleted."""


def crash_at(owner, name, count, *, before=False):
    """Let the process die when a method has done something for this many times."""
    method = getattr(owner, name)
    passed = itertools.count(1)

    @functools.wraps(method)
    async def dying(*arguments):
        if before and next(passed) == count:
            os.kill(os.getpid(), signal.SIGKILL)
        result = await method(*arguments)
        # A claim that has found nothing, and a batch that has written nothing, are no steps.
        if not before and result not in ([], False) and next(passed) == count:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, name, dying)


def delete_first():
    """Do what a dual write does that trusts in no crash: delete and commit, then write."""
    append = Batch._append

    async def late(batch, runs):
        conn = batch._queue._conn
        await batch._queue.delete([int(each.position) for row in runs.values() for each in row])
        await conn.execute("COMMIT")
        await late.point()
        return await append(batch, runs)

    async def point():
        return True

    late.point = point
    Batch._append = late
    return late


if __name__ == "__main__":
    point, count = sys.argv[1], int(sys.argv[2])
    if point == "naive":
        crash_at(delete_first(), "point", count)
    else:
        crash_at(*POINTS[point], count, before=point == "appended")
    sys.argv[1:] = ["sync", "postgres", "run"]
    main()
