"""A command of `sidecypher` that runs, and what it has printed."""

import os
import re
import signal
import subprocess
import sys
import threading

from fix_waiting import wait_until

SIDECYPHER = (sys.executable, "-m", "sidecypher")


class Running:
    """Starts a command; `cwd` is where, and `program` what takes the arguments."""

    def __init__(self, environ, *arguments, cwd=None, program=SIDECYPHER):
        self.process = subprocess.Popen(
            [*map(str, program), *arguments],
            env=environ,
            cwd=cwd,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            # Ctrl-C reaches all that a terminal runs in the foreground, and not the tests here.
            process_group=0,
        )
        self.lines = []
        self.reader = threading.Thread(target=lambda: self.lines.extend(self.process.stdout))
        self.reader.start()

    def text(self, since=0):
        """All that was printed from a mark on."""
        return "".join(self.lines[since:])

    def printed(self, expected, since=0):
        """Wait until a text, or what fits a pattern, is printed; return all from the mark on."""
        pattern = expected if isinstance(expected, re.Pattern) else re.compile(re.escape(expected))

        def found():
            text = self.text(since)
            assert self.process.poll() is None or pattern.search(text), self.text()
            return pattern.search(text) and text

        return wait_until(found, 240)

    def end(self):
        """Press Ctrl-C; return the exit code."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGINT)
        self.process.wait(120)
        self.reader.join(30)
        self.process.stdout.close()
        return self.process.returncode
