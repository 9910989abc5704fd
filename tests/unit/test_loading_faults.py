"""A module that misbehaves at its import keeps no other from loading, nor the sidecar as it was."""

import locale
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from fix_modules import answer, good, names, write
from fix_waiting import wait_until

from sidecypher.loading.loader import IMPORT_SECONDS, load


@pytest.fixture
def folder(tmp_path):
    """A folder with one good module."""
    # The first load imports the installed packages, which may take longer than a test allows.
    load([])
    write(tmp_path, "good.py", good("kg.good", "there"))
    return tmp_path


@pytest.fixture
def gate():
    """What a module waits for that does not end its import; opened when the test is over."""
    threading.gate = threading.Event()
    yield threading.gate
    threading.gate.set()
    wait_until(lambda: not any(each.name == "sidecypher-import" for each in threading.enumerate()))
    del threading.gate


HANGING = "import threading\nthreading.gate.wait()\n"


def test_an_import_that_does_not_end_is_left_to_itself(folder, gate):
    """The module is named with its reason after the limit; the others are loaded."""
    write(folder, "hang.py", HANGING + good("kg.hang"))

    loaded = load([folder], seconds=1.0)

    assert names(loaded) == ["kg.good"]
    [failure] = loaded.failures
    assert (failure.module, failure.reason) == ("hang.py", "its import did not end within 1 s")


def test_what_a_late_import_brings_is_not_taken(folder, gate):
    """A module whose import ends after it was given up stays left out."""
    write(folder, "hang.py", HANGING + good("kg.hang"))
    loaded = load([folder], seconds=1.0)

    gate.set()
    wait_until(lambda: not any(each.name == "sidecypher-import" for each in threading.enumerate()))

    assert names(loaded) == ["kg.good"]


def test_many_imports_that_do_not_end_share_the_patience(folder, gate):
    """Each one halves the time of the next, so that a start takes no longer for all of them."""
    for letter in "xyz":
        write(folder, f"{letter}.py", HANGING)

    loaded = load([folder], seconds=1.0)

    assert [failure.reason for failure in loaded.failures] == [
        f"its import did not end within {seconds} s" for seconds in ("1", "0.5", "0.25")
    ]
    assert names(loaded) == ["kg.good"]


def test_a_module_that_hung_is_loaded_once_it_is_corrected(folder, gate):
    """The import that still hangs does not hold up that of the corrected file."""
    write(folder, "hang.py", HANGING)
    before = load([folder], seconds=1.0)

    write(folder, "hang.py", good("kg.hang", "well"))
    after = load([folder], before)

    assert after.failures == ()
    assert answer(after, "kg.hang") == "well"


def test_a_start_takes_less_than_what_the_supervisor_allows():
    """The whole patience is below the minute after which a sidecar counts as failed."""
    assert 2 * IMPORT_SECONDS <= 30


def test_what_a_module_prints_goes_to_standard_error(folder, capsys):
    """Standard output may be read by a program; printing there is a warning, not a failure."""
    write(folder, "loud.py", "print('loud')" + good("kg.loud"))

    loaded = load([folder])

    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "loud\n")
    assert names(loaded) == ["kg.good", "kg.loud"]
    [warning] = loaded.warnings
    assert warning.module == "loud.py"
    assert warning.reason == "it printed to standard output, which went to standard error"


def test_other_threads_keep_standard_output_while_a_module_is_imported(folder, capsys, gate):
    """Only what the importing thread prints is sent elsewhere."""
    write(folder, "slow.py", "import threading\nthreading.begun.set()\nthreading.gate.wait()\n")
    threading.begun = threading.Event()
    loading = threading.Thread(target=load, args=([folder],))
    loading.start()
    assert threading.begun.wait(30)

    print("from elsewhere")  # noqa: T201 - it is what is tested
    gate.set()
    loading.join(30)
    del threading.begun

    assert capsys.readouterr().out == "from elsewhere\n"


def test_a_changed_directory_is_changed_back(folder):
    """A module that changes the working directory does so for nobody else."""
    before = Path.cwd()
    write(folder, "moves.py", "import os\nos.chdir('/')" + good("kg.moves"))

    loaded = load([folder])

    assert Path.cwd() == before
    assert names(loaded) == ["kg.good", "kg.moves"]
    assert [each.reason for each in loaded.warnings] == [
        "it changed the working directory, which was changed back"
    ]


def test_a_directory_that_is_gone_is_no_fault(folder, tmp_path_factory, monkeypatch):
    """Loading works in a working directory that somebody has removed."""
    gone = tmp_path_factory.mktemp("gone")
    monkeypatch.chdir(gone)
    gone.rmdir()

    assert names(load([folder])) == ["kg.good"]


def test_a_changed_locale_is_changed_back(folder):
    """A module that changes the locale does so for nobody else."""
    before = locale.setlocale(locale.LC_ALL)
    other = "C" if locale.setlocale(locale.LC_CTYPE) != "C" else "C.UTF-8"
    write(folder, "speaks.py", f"import locale\nlocale.setlocale(locale.LC_ALL, '{other}')\n")

    loaded = load([folder])

    assert locale.setlocale(locale.LC_ALL) == before
    assert [each.reason for each in loaded.warnings] == [
        "it changed the locale, which was changed back"
    ]


def test_a_signal_handler_is_not_set(folder):
    """The sidecar's own handlers stay; a module that sets one is loaded with a warning."""
    before = signal.getsignal(signal.SIGTERM)
    source = "import signal\nold = signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    write(folder, "grabs.py", source + good("kg.grabs"))

    loaded = load([folder])

    assert signal.getsignal(signal.SIGTERM) is before
    assert loaded.registry.get("kg.grabs").function.__globals__["old"] is before
    assert [each.reason for each in loaded.warnings] == [
        "it set a handler for SIGTERM, which was ignored"
    ]


def test_a_function_that_a_module_took_from_signal_works_afterwards(folder):
    """What stood in for `signal.signal` at the import is the real one later."""
    write(folder, "takes.py", "from signal import signal as taken" + good("kg.takes"))
    taken = load([folder]).registry.get("kg.takes").function.__globals__["taken"]
    before = signal.getsignal(signal.SIGUSR1)

    try:
        assert taken(signal.SIGUSR1, signal.SIG_IGN) is before
        assert signal.getsignal(signal.SIGUSR1) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_module_that_raises_keyboard_interrupt_is_left_out(folder):
    """Only a person can interrupt the loading, no module."""
    write(folder, "bad.py", "raise KeyboardInterrupt\n")

    loaded = load([folder])

    assert names(loaded) == ["kg.good"]
    assert [failure.module for failure in loaded.failures] == ["bad.py"]


def test_ctrl_c_ends_the_loading(folder):
    """A person who interrupts while a module hangs gets the prompt back."""
    program = f"""
import os, signal, sys, threading
from pathlib import Path
from sidecypher.loading.loader import load

load([Path({str(folder)!r})])
"""
    source = "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)\n"
    write(folder, "hang.py", source)

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )

    assert done.returncode != 0
    assert "KeyboardInterrupt" in done.stderr
