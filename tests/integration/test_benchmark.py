"""The benchmarks run; what they measure is not judged here, since machines are noisy."""

import json
import os
import signal
import subprocess
import sys
from contextlib import nullcontext

import pytest
from benchmarks import __main__ as benchmark
from benchmarks import console, github, installation, postgres, runs, sessions, sync


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


@pytest.mark.deep
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


@pytest.mark.deep
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


@pytest.mark.deep
def test_a_quick_benchmark_of_sessions_measures_every_figure(measurement, run, capsys):
    """A small run prints a line for each figure, and kills of workers repeat and lose nothing."""
    run(sessions, "installed", measurement._installation)

    told = capsys.readouterr().out
    assert [figure.name for figure in sessions.FIGURES if f"| {figure.title} " not in told] == []
    assert told.count("| 0 outputs ") == 2


@pytest.mark.deep
@pytest.mark.usefixtures("redis_server")
def test_a_quick_benchmark_of_sync_measures_every_figure(measurement, run, capsys):
    """A small run prints a line for each figure."""
    run(sync, "installed", measurement._installation)

    told = capsys.readouterr().out
    assert [figure.name for figure in sync.FIGURES if f"| {figure.title} " not in told] == []


@pytest.mark.deep
@pytest.mark.usefixtures("postgres_server")
def test_a_quick_benchmark_of_the_outbox_measures_every_figure(measurement, run, capsys):
    """A small run prints a line for each figure."""
    run(postgres, "installed", measurement._installation)

    told = capsys.readouterr().out
    assert [each.name for each in postgres.FIGURES if f"| {each.title} " not in told] == []


@pytest.mark.deep
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


def test_a_process_that_does_not_end_is_killed():
    """A benchmark ends whatever it has started, and waits for nothing for ever."""
    deaf = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "print('deaf', flush=True)\n"
        "time.sleep(600)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", deaf], stdout=subprocess.PIPE)

    with installation.ended(process, grace=0.1):
        process.stdout.readline()

    assert process.returncode == -signal.SIGKILL


def test_the_first_error_is_the_one_that_is_told(monkeypatch, capsys):
    """Where neither `up` nor `down` works, the benchmark fails by what `up` said."""

    def failing(_environ, command, *_options):
        raise SystemExit(f"{command} failed")

    monkeypatch.setattr(installation, "_command", failing)
    monkeypatch.setattr(installation, "_bare_sidecar", lambda: nullcontext(0))
    monkeypatch.setattr(installation, "fetch_jars", lambda _settings: None)
    monkeypatch.setattr(installation, "build_jar", lambda *_arguments: None)

    with pytest.raises(SystemExit, match="up failed"), installation.installed():
        pass

    assert "down failed" in capsys.readouterr().err


@pytest.mark.slow
def test_no_proxy_is_asked_for_a_sidecar_of_this_machine(monkeypatch, clean_environment, tmp_path):
    """Whoever reaches the network by a proxy can run the benchmark too."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    environ = clean_environment | {"SIDECYPHER_HOME": str(tmp_path)}

    started = installation.Installation(tmp_path, environ, None).start_another_sidecar()

    assert started.seconds > 0
