"""`sidecypher sync run`, stopped before a step of a partition: `python pausing.py METHOD`.

Before its first call of the method, the process stops itself as `kill -STOP` does.
"""

import functools
import os
import signal
import sys

from sidecypher.cli.main import main
from sidecypher_procedures.sync.partition import Partition

if __name__ == "__main__":
    method = getattr(Partition, sys.argv[1])
    waiting = [signal.SIGSTOP]

    @functools.wraps(method)
    async def pausing(*arguments):
        while waiting:
            os.kill(os.getpid(), waiting.pop())
        return await method(*arguments)

    setattr(Partition, sys.argv[1], pausing)
    sys.argv[1:] = ["sync", "run"]
    main()
