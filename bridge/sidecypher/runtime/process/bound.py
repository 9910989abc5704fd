"""Become a command that gets SIGTERM when the process that started it ends, even by SIGKILL.

Run by path, as `python -IS bound.py PARENT COMMAND ...`: as a module it would import the package.
"""

import ctypes
import os
import signal
import sys
from typing import Final

_PR_SET_PDEATHSIG: Final = 1


def main() -> None:
    """Become the command, unless the parent has ended already."""
    parent, *command = sys.argv[1:]
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() == int(parent):
        os.execvp(command[0], command)  # noqa: S606 - the command of a `ProcessSpec`


if __name__ == "__main__":
    main()
