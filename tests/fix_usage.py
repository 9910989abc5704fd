"""What a sidecar and the JVM hold: memory, open files, threads, and objects of ours."""

import re
import subprocess

import psutil
import pytest

_JAVA_THREAD = re.compile(r'^"(.+?)" #\d+ ', re.MULTILINE)
# Jackson keeps buffers for each thread of Neo4j that ever read or wrote JSON.
_CLASS = re.compile(r"^ *\d+: +(\d+) +\d+  io\.sidecypher\.(?!core\.shaded\.jackson)", re.MULTILINE)
_TOTAL = re.compile(r"^Total +\d+ +(\d+)", re.MULTILINE)
_MIB = 2**20


class Usage:
    """What both processes hold, sampled again and again."""

    def __init__(self, jvm, sidecar, jcmd, capsys):
        self._jvm = psutil.Process(jvm)
        self._sidecar = psutil.Process(sidecar)
        self._jcmd = jcmd
        self._capsys = capsys
        self._samples = []

    def sample(self):
        """Look once, when nothing runs; the JVM collects garbage first."""
        classes = self._ask("GC.class_histogram")
        threads = _JAVA_THREAD.findall(self._ask("Thread.print"))
        self._samples.append({
            "sidecar MiB": self._sidecar.memory_info().rss / _MIB,
            "sidecar files": self._sidecar.num_fds(),
            "sidecar threads": self._sidecar.num_threads(),
            "heap MiB": int(_TOTAL.search(classes)[1]) / _MIB,
            "our objects in it": sum(map(int, _CLASS.findall(classes))),
            "JVM files": self._jvm.num_fds(),
            # The JVM compiles with as many threads as it likes.
            "JVM threads": sum("CompilerThread" not in name for name in threads),
            "our threads in it": sum(name.startswith("sidecypher-") for name in threads),
        })  # fmt: skip

    def _ask(self, what):
        command = [self._jcmd, str(self._jvm.pid), what]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def grown(self, slack=0):
        """Return what is more at the end than at most in the first half, with all its values.

        `slack` is how much more all but memory may be.
        """
        return {
            name: values
            for name, values in self._series().items()
            if min(values[-2:])
            > max(values[: len(values) // 2]) * _factor(name) + slack + _few(name)
        }

    def tell(self, what):
        """Print the samples, whether or not the test fails."""
        table = "\n".join(
            f"{name:>18}" + "".join(f"{value:9.1f}" for value in values)
            for name, values in self._series().items()
        )
        with self._capsys.disabled():
            print(f"\n{what}\n{table}", flush=True)  # noqa: T201 - for who runs the tests

    def _series(self):
        return {name: [each[name] for each in self._samples] for name in self._samples[0]}


def _few(name):
    # Those of a connection or two that have ended may be held for a while, and Neo4j starts some
    # threads late; a leak has thousands.
    return {"our objects in it": 20, "JVM threads": 5}.get(name, 0)


def _factor(name):
    if name.startswith("JVM"):
        return 1.1  # Neo4j opens files and starts threads of its own whenever it likes
    return 1.02 if name.endswith("MiB") else 1.0


@pytest.fixture
def usage(server, javac, capsys):
    """Make a record of what Neo4j and one of its sidecars hold."""
    jcmd = javac.with_name("jcmd")
    return lambda sidecar: Usage(server.process("neo4j").pid, sidecar.process.pid, jcmd, capsys)
