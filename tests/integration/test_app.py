"""The sidecar as a process: when it is there, how it ends, what it leaves behind."""

import asyncio
import contextlib
import signal
import socket
import stat
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psutil
import pytest
from fix_waiting import promised, wait_until

from sidecypher.app import Sidecar
from sidecypher.errors import CallError
from sidecypher.host.rendezvous import read_rendezvous, running_sidecars
from sidecypher.host.settings import load_settings


def test_a_sidecar_is_there_once_its_file_is_and_gone_with_it(start_sidecar):
    """`sidecar.json` is private and tells the truth; SIGTERM ends with 0 and takes it away."""
    running = start_sidecar()
    found = running.announcement()

    assert stat.S_IMODE((running.run_dir / "sidecar.json").stat().st_mode) == 0o600
    # No dump of its memory, which holds the tokens.
    assert psutil.Process(running.process.pid).rlimit(psutil.RLIMIT_CORE) == (0, 0)
    assert len(bytes.fromhex(read_rendezvous(running.run_dir).fingerprint)) == 32
    assert found.host == "127.0.0.1"
    answer = running.ready(found.http)
    assert (
        answer.text == "[+]event loop ok\n[+]procedures ok\n[+]bodies ok\n[+]workers ok\n"
        "[+]not stopping ok\nok\n"
    )
    with running.client() as client:
        assert list(client.rows("test.echo", "there")) == [["there"]]
        metrics = httpx.get(f"http://127.0.0.1:{found.http}/metrics", trust_env=False).text
        assert "sidecypher_connections 1.0" in metrics

        running.process.send_signal(signal.SIGTERM)

        assert running.process.wait(10) == 0
    assert not (running.run_dir / "sidecar.json").exists()
    events = [line["event"] for line in running.logged()]
    assert events[0] == "sidecar ready"
    assert events[-1] == "sidecar stopped"
    assert (running.run_dir / "token").read_text().strip() not in running.log.read_text()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has such a score")
def test_a_sidecar_is_ended_before_the_database(start_sidecar):
    """Without memory the kernel ends the process with the highest score, whatever its size."""
    running = start_sidecar()

    score = Path(f"/proc/{running.process.pid}/oom_score_adj").read_text(encoding="ascii")
    assert int(score) == 900


def test_what_is_drained_leaves_half_of_the_grace_to_calls(tmp_path, monkeypatch):
    """They begin until all is drained, and those that began last have time as well."""

    class Endless:
        async def drain(self):
            await asyncio.Event().wait()

    sidecar = Sidecar(load_settings({"home": tmp_path, "shutdown_seconds": 60.0}, {}))
    sidecar._resources.provide(Endless())
    waited = []
    monkeypatch.setattr(sidecar, "_expire_while", lambda _goes_on, seconds: waited.append(seconds))
    sidecar.start()
    sidecar.stop()

    drained, *_ = waited
    assert 0 < drained <= 30


def test_work_that_fails_once_is_done_again(tmp_path, monkeypatch):
    """What no call waits for, such as leases, goes on after an error."""
    monkeypatch.setattr("sidecypher.app.TIDY_SECONDS", 0.01)
    sidecar = Sidecar(load_settings({"home": tmp_path}, {}))
    ticks, logged = [], []

    def run_housekeeping():
        ticks.append(time.monotonic())
        raise RuntimeError("payload")

    def log(error, *, work):
        logged.append((type(error), work))

    def expire():
        ticks.append(time.monotonic())

    monkeypatch.setattr("sidecypher.app.log_unexpected", log)
    monkeypatch.setattr(sidecar._inspector, "run_housekeeping", run_housekeeping)
    monkeypatch.setattr(sidecar._dispatcher.calls, "expire", expire)
    sidecar.start()
    wait_until(lambda: len(ticks) > 5)
    sidecar.stop()

    assert set(logged) == {(RuntimeError, "run_housekeeping")}


def test_a_second_sidecar_joins_the_first_one(start_sidecar):
    """Sidecars of one run folder serve side by side, and any of them may leave."""
    first, second = start_sidecar(), start_sidecar()
    own = [each.announcement() for each in (first, second)]

    assert read_rendezvous(first.run_dir).sidecars == own
    for each in (first, second):
        with each.client() as client:
            assert list(client.rows("test.echo", "there")) == [["there"]]
    first.process.send_signal(signal.SIGTERM)
    assert first.process.wait(10) == 0
    assert read_rendezvous(first.run_dir).sidecars == own[1:]


def test_a_killed_sidecar_is_followed_by_one_with_the_same_credentials(start_sidecar, tmp_path):
    """What `kill -9` leaves behind is replaced; a module broken since is named and left out."""
    first = start_sidecar()
    before = read_rendezvous(first.run_dir)
    first.process.kill()
    first.process.wait()
    assert read_rendezvous(first.run_dir) == before
    assert running_sidecars(first.run_dir) == []

    (tmp_path / "procedures" / "bad.py").write_text("def f(:\n")
    second = start_sidecar()
    after = second.announcement()

    assert read_rendezvous(second.run_dir).sidecars == [after]
    assert after.generation != before.sidecars[0].generation
    assert read_rendezvous(second.run_dir).fingerprint == before.fingerprint
    assert second.ready(after.http).status_code == 200
    [left_out] = [line for line in second.logged() if line["event"] == "module left out"]
    assert (left_out["module"], left_out["level"]) == ("bad.py", "error")
    assert "syntax error in line 1" in left_out["reason"]
    metrics = httpx.get(f"http://127.0.0.1:{after.http}/metrics", trust_env=False).text
    assert "sidecypher_load_failures 1.0" in metrics


def test_a_port_in_use_ends_with_one_clear_error(start_sidecar):
    """A taken port is told with the option that changes it; nothing is left running or written."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        running = start_sidecar("--port", str(port), wait=False)

        assert running.process.wait(20) == 1

    text = running.log.read_text()
    assert f"listen on port {port} of 127.0.0.1: Address already in use [SC-602]" in text
    assert "`--port`" in text
    assert "Traceback" not in text
    assert not (running.run_dir / "sidecar.json").exists()


def assert_nothing_is_left(run_folder):
    """A sidecar that does not start leaves neither its socket nor its lock in the run folder."""
    assert not [*run_folder.glob("*.sock"), *run_folder.glob("*.alive")]


def test_a_taken_http_port_leaves_nothing(start_sidecar):
    """A sidecar that is started again every second must not leave a file each time."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        running = start_sidecar("--http-port", str(taken.getsockname()[1]), wait=False)

        assert running.process.wait(20) == 1

    assert "[SC-602]" in running.log.read_text()
    assert_nothing_is_left(running.run_dir)


def test_a_sidecar_that_cannot_be_announced_leaves_nothing(home):
    """The sidecar closes its socket if it cannot write `sidecar.json`, as on a full disk."""
    settings = load_settings({"home": home}, {})
    (settings.run_folder / "sidecar.json").mkdir(parents=True)

    with pytest.raises(IsADirectoryError):
        Sidecar(settings).start()

    assert_nothing_is_left(settings.run_folder)


# A plain body that computes, and has a time of its own where it is called by its name

BRIEF = """
from pathlib import Path
from sidecypher import Row, procedure

class Text(Row):
    value: str
"""

BRIEF_PROCEDURE = """
@procedure("brief.of{eighths}", timeout={eighths} / 8)
def brief_{eighths}(begun: str) -> Text:
    Path(begun).touch()
    while True:
        pass
"""


@pytest.fixture
def brief_sidecar(start_sidecar, tmp_path):
    """A sidecar with bodies that compute for ever, with a timeout of 1/8 s, 2/8 s, and so on."""
    folder = tmp_path / "procedures"
    folder.mkdir()
    bodies = [BRIEF_PROCEDURE.format(eighths=eighths) for eighths in range(1, 9)]
    (folder / "brief.py").write_text(BRIEF + "".join(bodies))
    return start_sidecar()


@pytest.mark.slow
def test_calls_by_name_end_within_a_second_of_their_timeout(brief_sidecar, tmp_path):
    """At whatever moment the time of a computing body is used up, its caller is answered soon."""

    def late(client, eighths):
        begun = time.monotonic()
        with pytest.raises(CallError) as caught:
            list(client.rows("sidecypher.call", f"brief.of{eighths}", [str(tmp_path / "begun")]))
        assert caught.value.code == "SC-213"
        return time.monotonic() - begun - eighths / 8

    with contextlib.ExitStack() as lines, ThreadPoolExecutor(8) as background:
        clients = [lines.enter_context(brief_sidecar.client()) for _ in range(8)]
        assert max(background.map(late, clients, range(1, 9))) < promised(1)


def test_a_call_by_name_keeps_its_timeout_while_the_sidecar_stops(brief_sidecar, tmp_path):
    """In the grace too a computing body ends with its own time, and its caller is told so."""
    marks = [tmp_path / "by its caller's time", tmp_path / "by its own time"]

    with contextlib.ExitStack() as lines, ThreadPoolExecutor(2) as background:
        one, other = (lines.enter_context(brief_sidecar.client()) for _ in marks)
        # For its caller's time: so the sidecar has something to wait for.
        background.submit(list, one.rows("brief.of8", str(marks[0])))
        wait_until(marks[0].exists)
        called = other.rows("sidecypher.call", "brief.of8", [str(marks[1])])
        answer = background.submit(list, called)
        wait_until(marks[1].exists)
        brief_sidecar.process.send_signal(signal.SIGTERM)

        with pytest.raises(CallError) as caught:
            answer.result(10)
        brief_sidecar.process.kill()

    assert caught.value.code == "SC-213"
