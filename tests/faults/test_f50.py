"""F50: the sidecar is killed between its answer to a webhook and the graph."""

import contextlib
import json
import socket
import sqlite3

import pytest
from fix_waiting import wait_until
from fix_webhooks import Sender, examples

WRITTEN = """
    MATCH (w:GithubWebhookEvent) WHERE w.id STARTS WITH 'killed'
    RETURN count(*) AS nodes, count(DISTINCT w.id) AS ids
"""
IN_ORDER = """
    MATCH (w:GithubWebhookEvent) WHERE w.id STARTS WITH 'killed'
    WITH w ORDER BY w.createdAt RETURN collect(w.id) AS ids
"""


@pytest.fixture(scope="module")
def issue(payloads):
    """GitHub's own example of an issue that was opened."""
    return next(
        json.loads(json.dumps(payload))
        for event, payload in examples(payloads)
        if event == "issues" and payload["action"] == "opened"
    )


@pytest.fixture
def home(tmp_path):
    """A home of the test's own: sidecars of the server's would write for those of the test."""
    return tmp_path / "home"


@pytest.mark.slow
def test_what_was_answered_is_written_once_after_a_kill(
    session, server, another_sidecar, home, issue
):
    """All that got 202 is in the graph once and in order, though the sidecar was killed before."""
    deaf = socket.create_server(("127.0.0.1", 0))
    uri = f"bolt://127.0.0.1:{deaf.getsockname()[1]}"
    killed = another_sidecar("--home", home, SIDECYPHER_NEO4J_URI=uri)
    with contextlib.closing(Sender(killed.announcement.http)) as sender:
        names = [f"killed-{number:02}" for number in range(30)]
        for name in names:
            assert sender.deliver("issues", issue, name).status_code == 202
    killed.kill()
    deaf.close()

    bolt = server.facts["bolt"]
    another_sidecar(
        "--home", home, SIDECYPHER_NEO4J_URI=bolt, SIDECYPHER_NEO4J_PASSWORD=server.password
    )

    wait_until(lambda: session.run(WRITTEN).single()["ids"] == 30)
    assert session.run(WRITTEN).single()["nodes"] == 30
    assert session.run(IN_ORDER).single()["ids"] == names
    with contextlib.closing(sqlite3.connect(home / "webhooks.sqlite")) as file:
        wait_until(lambda: file.execute("SELECT count(*) FROM delivery").fetchone() == (0,))


@pytest.mark.slow
def test_sidecars_of_one_home_write_each_delivery_once(
    session, server, another_sidecar, home, issue
):
    """Three sidecars that share a home, of which one is killed while all are posted to."""
    variables = {
        "SIDECYPHER_NEO4J_URI": server.facts["bolt"],
        "SIDECYPHER_NEO4J_PASSWORD": server.password,
    }
    sidecars = [another_sidecar("--home", home, **variables) for _ in range(3)]
    with contextlib.ExitStack() as opened:
        senders = [
            opened.enter_context(contextlib.closing(Sender(each.announcement.http)))
            for each in sidecars
        ]
        for number in range(30):
            sender = senders[number % 3]
            assert sender.deliver("issues", issue, f"killed-{number:02}").status_code == 202
    sidecars[0].kill()

    wait_until(lambda: session.run(WRITTEN).single()["ids"] == 30)
    assert session.run(WRITTEN).single()["nodes"] == 30
