"""The benchmarks run; what they measure is not judged here, since machines are noisy."""

import json
import os
import signal
import sys
from contextlib import nullcontext

import pytest
from benchmarks import __main__ as benchmark
from benchmarks import console, github, runs


@pytest.fixture(scope="module")
def measurement(installation):
    """An installation to be measured, which takes an origin for GitHub."""
    with github.measuring() as made:
        yield made


@pytest.fixture
def run(monkeypatch):
    """Run a benchmark's command line here, with something in place of what it starts."""
    before = signal.getsignal(signal.SIGTERM)

    def command(module, name, running, *arguments):
        monkeypatch.setattr(module, name, lambda: nullcontext(running))
        monkeypatch.setattr(sys, "argv", [module.__name__, "--quick", *map(str, arguments)])
        module.main()

    yield command
    signal.signal(signal.SIGTERM, before)


def test_a_quick_benchmark_measures_every_figure(measurement, run, tmp_path, capsys):
    """A small run writes every figure and a picture, and tells where the time goes."""
    figures, picture = tmp_path / "figures.json", tmp_path / "picture.svg"
    files = ("--json", figures, "--svg", picture)

    run(benchmark, "installed", measurement._installation, *files)

    told, said = capsys.readouterr()
    measured = json.loads(figures.read_text())["figures"]
    assert {"echo_to_bare", "callback_to_bare", "generator", "callers_p99"} <= measured.keys()
    assert all(figure["median"] > 0 for figure in measured.values())
    assert picture.read_text().startswith("<svg")
    table = told.partition("| of an echo")[2]
    parts = all(part in table for part in ("the JVM works", "Python works", "an echo"))
    assert parts or "not sampled: py-spy may not" in said


def test_a_quick_benchmark_of_runs_measures_every_figure(measurement, run, capsys):
    """A small run prints a line for each figure; PostgreSQL's is left out, aloud, without one."""
    run(runs, "installed", measurement._installation)

    told, said = capsys.readouterr()
    missing = [figure.name for figure in runs.FIGURES if f"| {figure.title} " not in told]
    if "not measured" in said:
        assert missing == ["postgresql"]
        leave = pytest.fail if os.environ.get("CI") else pytest.skip
        leave("PostgreSQL is not installed: `apt-get install postgresql`")
    assert missing == []


def test_a_quick_benchmark_of_github_measures_every_figure(measurement, run, capsys):
    """A small run prints a line for each figure."""
    run(github, "measuring", measurement)

    told = capsys.readouterr().out
    assert [figure.name for figure in github.FIGURES if f"| {figure.title} " not in told] == []


def test_a_quick_benchmark_of_the_console_measures_every_figure(monkeypatch, capsys):
    """A small run prints a line for each figure; it needs no installation."""
    monkeypatch.setattr(sys, "argv", [console.__name__, "--quick"])

    console.main()

    told = capsys.readouterr().out
    assert [figure.name for figure in console.FIGURES if f"| {figure.title} " not in told] == []
