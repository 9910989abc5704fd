"""Breakdown of the time of one echo, by sampling both processes.

The JVM is sampled with its flight recorder and the sidecar with py-spy, while one caller calls a
procedure that returns its argument. The total CPU time is measured before, without sampling.
"""

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.installation import Installation, ended
from benchmarks.measures import Scale
from benchmarks.report import aligned, number

_ECHO = "UNWIND range(1, $rows) AS n CALL bench.echo('x') YIELD value RETURN count(*) AS rows"
_PLAIN_RUNS = 5
_PY_SPY_RATE = 200
_OTHER = "other"
JAVA_SAMPLE_SECONDS = 0.010
"""Interval of the samples in `benchmarks/java/Profile.java`; they miss threads in system calls."""

Stages = Mapping[str, Sequence[str]]
"""Texts in the innermost matching frame of a stack, by the name of its stage."""

# Frames of Jackson match nothing, so they count for their caller.
JVM_STAGES: Stages = {
    "TLS": ("sun.security.ssl", "javax.crypto", "com.sun.crypto"),
    "write the request": ("core.Requests", "core.ValueWriter", "core.LimitedText"),
    "read the reply": ("core.Reply", "core.ValueReader", "core.LineReader"),
    "pool, deadline, circuit": tuple(
        f"io.sidecypher.core.{name}"
        for name in (
            "Admission Bridge Call Caller Circuit Connection ConnectionPool Link "
            "Rows RunFolder Sidecar Sidecars Watchdog"
        ).split()
    ),
    "Neo4j": ("org.neo4j", "io.sidecypher.generated"),
}
PYTHON_STAGES: Stages = {
    "receive: system call": ("line (sidecypher/transport/py4j.py",),
    "send: system call": ("_send (sidecypher/transport/py4j.py",),
    "cut into lines": ("transport/py4j.py",),
    "read and write envelopes": ("protocol/envelope.py", "transport/_messages.py"),
    "run the body, encode the row": ("executors/", "interruption.py", "encode_rows", "measured.py"),
    "count": ("sidecypher/telemetry/",),
    "admit, decode, dispatch": ("sidecypher/",),
}


class NotAllowedError(Exception):
    """The system does not allow py-spy to sample another process."""


def breakdown(installation: Installation, scale: Scale) -> str:
    """Measure and sample echoes, and return a table of microseconds per call.

    Raises:
        NotAllowedError: Sampling another process needs more rights.
    """
    plain = [installation.split(_ECHO, rows=scale.rows) for _ in range(_PLAIN_RUNS)]
    elapsed, jvm, python = (
        median(getattr(run, part) for run in plain) / scale.rows * 1e6
        for part in ("elapsed", "jvm", "python")
    )
    in_java, in_python = _sampled(installation, scale.sampled)
    java = min(jvm, in_java.total() * JAVA_SAMPLE_SECONDS / scale.sampled * 1e6)
    parts = {
        "the JVM works": jvm,
        **_parts(java, in_java, JVM_STAGES),
        "- system calls, and not seen": jvm - java,
        "Python works": python,
        **_parts(python, in_python, PYTHON_STAGES),
        "waiting to be woken": elapsed - jvm - python,
        "an echo": elapsed,
    }
    lines = [(name, number(part), f"{part / elapsed:.0%}") for name, part in parts.items()]
    return aligned([("of an echo", "us", "share"), *lines])


def _sampled(installation: Installation, rows: int) -> tuple[Counter[str], Counter[str]]:
    """Return the samples of each stack, innermost frame first, in the JVM and in Python."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "stacks")
        with ended(_spy(installation.sidecar_pid(), file)) as spy:
            seen = installation.rows(
                "CALL bench.profile($query, {rows: $rows}) YIELD stack, samples",
                query=_ECHO,
                rows=rows,
            )
            spy.send_signal(signal.SIGINT)
            if spy.wait(60) != 0:
                raise NotAllowedError
        return Counter({row["stack"]: row["samples"] for row in seen}), _stacks(file)


def _spy(pid: int, file: Path) -> subprocess.Popen[bytes]:
    """Sample a Python process until SIGINT, and write its stacks to a file."""
    program = Path(sys.executable).with_name("py-spy")
    options = f"--pid {pid} --rate {_PY_SPY_RATE} --nonblocking --format raw --output".split()
    return subprocess.Popen([program, "record", *options, file], stdout=subprocess.DEVNULL)


def _stacks(file: Path) -> Counter[str]:
    found: Counter[str] = Counter()
    for line in file.read_text(encoding="utf-8").splitlines():
        stack, _, count = line.rpartition(" ")
        found[";".join(reversed(stack.split(";")))] += int(count)
    return found


def _parts(worked: float, stacks: Counter[str], stages: Stages) -> dict[str, float]:
    """Divide the CPU time in proportion to the samples."""
    counts: Counter[str] = Counter()
    for stack, count in stacks.items():
        counts[_stage(stack, stages)] += count
    return {
        f"- {stage}": worked * counts[stage] / max(counts.total(), 1) for stage in (*stages, _OTHER)
    }


def _stage(stack: str, stages: Stages) -> str:
    for frame in stack.split(";"):
        for stage, marks in stages.items():
            if any(mark in frame for mark in marks):
                return stage
    return _OTHER
