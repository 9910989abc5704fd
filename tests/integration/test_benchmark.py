"""The benchmark runs; what it measures is not judged here, since machines are noisy."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_a_quick_benchmark_measures_every_figure(installation, tmp_path):
    """A small run ends well, writes every figure and a picture, and leaves nothing running."""
    figures, picture = tmp_path / "figures.json", tmp_path / "picture.svg"
    command = [sys.executable, "-m", "benchmarks", "--quick"]

    done = subprocess.run(
        [*command, "--json", str(figures), "--svg", str(picture)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    measured = json.loads(figures.read_text())["figures"]
    assert {"echo_to_bare", "callback_to_bare", "generator", "callers_p99"} <= measured.keys()
    assert all(figure["median"] > 0 for figure in measured.values())
    assert picture.read_text().startswith("<svg")
    table = done.stdout.partition("| of an echo")[2]
    parts = all(part in table for part in ("the JVM works", "Python works", "an echo"))
    assert parts or "not sampled: py-spy may not" in done.stderr
