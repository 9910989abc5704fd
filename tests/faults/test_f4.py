"""F4: a body hangs."""

import contextlib
import os
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from fix_http import HttpClient
from fix_modules import write
from fix_waiting import promised, wait_until

from sidecypher.app import Sidecar
from sidecypher.errors import CallError
from sidecypher.host.credentials import load_credentials
from sidecypher.host.rendezvous import running_sidecars
from sidecypher.host.settings import load_settings

LIMIT = 8
"""With more bodies that do not stop a sidecar is not ready; the default of `stuck_calls_limit`."""

STUCK = (
    "CALL sidecypher.running() YIELD name, state WHERE name = 'trouble.wait' AND state = 'stuck' "
    "RETURN count(*)"
)


@pytest.fixture
def hanging(session):
    """Let bodies of `trouble.wait` hang; those that still do are let go at the end."""
    yield
    session.run("CALL trouble.letGo()").consume()
    wait_until(lambda: session.run(STUCK).single().value() == 0)


def readiness(server):
    url = f"http://127.0.0.1:{server.sidecar.http}/readyz?verbose"
    answer = httpx.get(url, trust_env=False)
    return answer.status_code, answer.text


@pytest.mark.usefixtures("hanging")
@pytest.mark.parametrize("procedure", ["trouble.wait", "trouble.waitAsync"])
def test_a_body_that_never_answers_is_a_clear_error(session, evidence, procedure):
    """A body that outlives its timeout of 0.3 s gives an error within another second."""
    session.run("CALL test.echo('warm')").consume()

    begun = time.monotonic()
    error = evidence.error(f"CALL {procedure}()")

    assert time.monotonic() - begun < promised(1.3)
    assert "SC-213" in error.message
    assert f"`{procedure}`" in error.message
    assert "raise " in error.message
    session.run("CALL trouble.letGo()").consume()
    evidence.logged("call failed", procedure=procedure, code="SC-213")
    evidence.counted("sidecypher_calls_total", procedure=procedure, outcome="SC-213")


@pytest.mark.usefixtures("hanging")
def test_bodies_that_do_not_stop_are_counted_until_they_do(server, session, evidence):
    """They are told as stuck; too many make the sidecar not ready, though it still serves."""
    # Opens a connection for each, so that the short time of `trouble.wait` is not spent on that.
    for caller in [evidence.call("CALL test.hang(1)") for _ in range(LIMIT + 1)]:
        caller.join(30)
    callers = [evidence.call("CALL trouble.wait()") for _ in range(LIMIT + 1)]
    for caller in callers:
        caller.join(10)
        assert "SC-213" in caller.error.message

    wait_until(lambda: session.run(STUCK).single().value() == LIMIT + 1)
    assert evidence.metric("sidecypher_stuck_calls") > LIMIT
    status, text = readiness(server)
    assert status == 503
    assert "[-]bodies failed" in text
    evidence.logged("call does not stop", procedure="trouble.wait")
    assert session.run("CALL test.echo('meanwhile')").single()["value"] == "meanwhile"

    session.run("CALL trouble.letGo()").consume()

    wait_until(lambda: session.run(STUCK).single().value() == 0)
    wait_until(lambda: readiness(server)[0] == 200)
    assert evidence.metric("sidecypher_stuck_calls") <= LIMIT
    evidence.logged("call has stopped", procedure="trouble.wait")


BLOCKING = """
    from sidecypher import Row, procedure

    class Text(Row):
        value: str

    @procedure("own.block", timeout=60.0)
    async def block(pipe: str) -> Text:
        with open(pipe) as opened:  # opens when the test opens the other end
            return Text(value=opened.read())

    @procedure("own.echoAsync")
    async def echo_async(value: str) -> Text:
        return Text(value=value)

    @procedure("own.echo")
    def echo(value: str) -> Text:
        return Text(value=value)
"""


@pytest.fixture
def clients(tmp_path, monkeypatch):
    """Clients of a sidecar in this process that looks more often than others at its event loop."""
    monkeypatch.setattr("sidecypher.app.SILENCE_SECONDS", 0.5)
    monkeypatch.setattr("sidecypher.app.TIDY_SECONDS", 0.02)
    write(tmp_path / "procedures", "own.py", textwrap.dedent(BLOCKING))
    flags = {"home": tmp_path / "home", "procedures": [tmp_path / "procedures"]}
    running = Sidecar(load_settings(flags, {}))
    running.start()
    [found] = running_sidecars(tmp_path / "home" / "run")
    token = load_credentials(tmp_path / "home" / "run").http_token
    with contextlib.ExitStack() as made:

        def make(**options):
            return made.enter_context(contextlib.closing(HttpClient(found.http, token, **options)))

        yield make
    running.stop()


@pytest.fixture
def pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


def test_a_body_that_blocks_the_event_loop_makes_the_sidecar_not_ready(clients, pipe):
    """`/readyz` names the loop while it is blocked; plain bodies go on, and all after it."""
    sidecar, hasty = clients(), clients(timeout=0.3)
    with ThreadPoolExecutor(1) as background:
        blocked = background.submit(lambda: list(sidecar.rows("own.block", str(pipe))))
        with pipe.open("w") as writer:
            wait_until(lambda: sidecar.http.get("/readyz").status_code == 503)
            told = sidecar.http.get("/readyz?verbose").text

            assert "[-]event loop failed: it has not answered for" in told
            assert sidecar.http.get("/livez").status_code == 200
            assert list(sidecar.rows("own.echo", "plain")) == [["plain"]]
            with pytest.raises(CallError) as caught:
                list(hasty.rows("own.echoAsync", "waits in vain"))
            assert caught.value.code == "SC-213"
            writer.write("unblocked")

        assert blocked.result(10) == [["unblocked"]]
    wait_until(lambda: sidecar.http.get("/readyz").status_code == 200)
    assert list(sidecar.rows("own.echoAsync", "served")) == [["served"]]
