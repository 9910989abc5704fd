"""Run a command of `sidecypher` in this process."""

import os
import signal
import sys

import pytest

from sidecypher.cli.main import main


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


@pytest.fixture
def run(capsys, monkeypatch, home):
    """Run a command in this process; give its exit code and what it printed."""

    # What a command changes in its process, which ends with it elsewhere.
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    writes_none = sys.dont_write_bytecode

    def run(*arguments, **variables):
        for name in [name for name in os.environ if name.startswith("SIDECYPHER_")]:
            monkeypatch.delenv(name)
        for name, value in {"SIDECYPHER_HOME": str(home), **variables}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "argv", ["sidecypher", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        return ended.value.code or 0, shown.out, shown.err

    yield run

    sys.dont_write_bytecode = writes_none
    for number, handler in handlers.items():
        signal.signal(number, handler)
