"""What digests cover, and signing keys, on a real Neo4j."""

import hashlib
import json
import secrets

import pytest
from fix_calls import Calls
from neo4j.exceptions import ClientError

VARIABLE = "SIDECYPHER_RUNS_SIGNING_KEY_FILE"


def key_file(folder, name="key", mode=0o600, text=None):
    """Write a new signing key; return its file."""
    file = folder / name
    file.write_text(text or secrets.token_hex(32) + "\n")
    file.chmod(mode)
    return file


@pytest.fixture
def signing(server, session, another_sidecar):
    """Replace the sidecar by one with a signing key, or without one, until the next one.

    `session` waits for the supervised sidecar, so it comes before that is gone.
    """
    with server.sidecar_down():
        running = []

        def start(file=None):
            for each in running:
                each.stop()
            variables = {} if file is None else {VARIABLE: str(file)}
            running[:] = [another_sidecar(**variables)]
            session.run("CALL sidecypher.info() YIELD pid").consume()

        yield start
        for each in running:
            each.stop()


def verified(runs, run):
    row = runs.one("verify", run)
    return row["ok"], row["firstBadSeq"], row["signed"], row["reason"]


CHANGES = {
    "its time": "SET e.createdAt = e.createdAt + duration({nanoseconds: 1})",
    "its agent": "WITH e MATCH (e)-[l:EXECUTED_BY]->() DELETE l",
    "another agent": "WITH e MATCH (e)-[l:EXECUTED_BY]->(a) SET a.id = 'eve'",
    "two agents": "CREATE (e)-[:EXECUTED_BY]->(:AIAgent {id: 'eve'})",
    "the digest of its agent": "SET e.agentDigest = 'x'",
    "the version": "SET e.digestVersion = 3",
    "an earlier version": "REMOVE e.digestVersion",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_who_and_when_are_part_of_the_digest(runs, change):
    """A time that the caller did not give, and the agent, cannot be changed unseen."""
    run = runs.new()
    for name in "abc":
        runs.append(run, "llmResponse", id=name, executedBy="ann")
    assert verified(runs, run) == (True, None, 0, None)

    runs.session.run(f"MATCH (e:Event {{id: 'b'}}) {change}").consume()
    assert verified(runs, run)[:2] in {(False, 2), (False, 1)}


def test_an_event_without_an_agent_gets_none(runs):
    """Whoever is added later has not written it."""
    run = runs.new()
    runs.append(run, id="e")
    add = "MATCH (e:Event {id: 'e'}) CREATE (e)-[:EXECUTED_BY]->(:AIAgent {id: 'eve'})"
    runs.session.run(add).consume()

    assert verified(runs, run) == (False, 1, 0, "its agent is not the one that was written")


def test_a_deleted_event_keeps_the_digest_of_its_agent(runs):
    """The agent goes with the content; the history still verifies."""
    run = runs.new()
    runs.append(run, "llmResponse", id="e", executedBy="ann")
    runs.append(run)
    runs.one("deleteEvent", "e")

    assert verified(runs, run) == (True, None, 0, None)


def test_runs_of_earlier_versions_verify(runs):
    """Their digests cover what they did then; new events follow them."""
    run = runs.new()
    runs.append(run, "llmResponse", id="old", executedBy="ann")
    # As version 1 wrote it: the digest of content, place and parents.
    query = "MATCH (e:Event {id: 'old'}) RETURN e.contentDigest"
    content = runs.session.run(query).single().value()
    text = json.dumps([content, 1, []], separators=(",", ":"))
    runs.session.run(
        "MATCH (e:Event {id: 'old'}) SET e.digest = $digest REMOVE e.digestVersion, e.agentDigest",
        digest=hashlib.sha256(text.encode()).hexdigest(),
    ).consume()
    runs.append(run)

    assert verified(runs, run) == (True, None, 0, None)
    runs.session.run("MATCH (e:Event {id: 'old'}) SET e.digest = 'x'").consume()
    assert verified(runs, run)[:2] == (False, 1)


@pytest.mark.slow
def test_a_key_signs_a_run(runs, signing, tmp_path):
    """Only who has the key can verify, continue or forge it; what is wrong is said in words."""
    signing()
    run = runs.new()
    runs.append(run, "llmResponse", id="before", executedBy="ann")
    signing(file := key_file(tmp_path))
    runs.append(run, "llmResponse", id="one", executedBy="ann")
    runs.append(run, "workflowCompleted", id="two")
    assert verified(runs, run) == (True, None, 2, None)
    forged = runs.session.run("MATCH (e:Event {id: 'two'}) RETURN properties(e)").single().value()

    signing(key_file(tmp_path, "another"))
    ok, place, signed, reason = verified(runs, run)
    assert (ok, place, signed) == (False, 2, 0)
    assert "signed by another key" in reason

    signing()
    ok, place, signed, reason = verified(runs, run)
    assert (ok, place, signed) == (False, 2, 0)
    assert f"`{VARIABLE}` is missing" in reason
    with pytest.raises(ClientError, match=rf"SC-917.*`{VARIABLE}` is missing"):
        runs.one("archive", run)
    # A writer without the key can only write what is not signed.
    runs.session.run("MATCH (e:Event {id: 'two'}) DETACH DELETE e").consume()
    runs.session.run(
        "MATCH (r:WorkflowRun {id: $run}) "
        "SET r.lastSeq = 2, r.lastEventId = 'one', r.state = 'running', r.status = 'running'",
        run=run,
    ).consume()
    runs.append(run, "workflowCompleted", id="two")

    signing(file)
    assert verified(runs, run) == (False, 3, 1, "it is not signed, but an event before it is")
    assert forged["digestKey"] not in file.read_text()


@pytest.mark.slow
def test_a_signed_run_is_archived_and_restored_with_its_key(runs, signing, tmp_path):
    """Without the key it cannot be restored, and the error says why."""
    signing(file := key_file(tmp_path))
    run = runs.new()
    runs.append(run, "llmResponse", executedBy="ann")
    runs.append(run, "workflowCompleted")
    runs.one("archive", run)

    signing()
    with pytest.raises(ClientError, match=rf"SC-919.*`{VARIABLE}` is missing"):
        runs.one("restore", run)
    signing(file)
    runs.one("restore", run)
    assert verified(runs, run) == (True, None, 2, None)


@pytest.mark.slow
def test_a_key_that_others_can_read_is_refused(signing, session, tmp_path):
    """Calls fail until the file is right, and neither its path nor the key is told."""
    runs = Calls(session, "runs")
    signing(file := key_file(tmp_path, mode=0o644))
    with pytest.raises(ClientError, match=rf"SC-910.*`{VARIABLE}` has the mode 0644") as told:
        runs.call("list")
    assert str(tmp_path) not in str(told.value)
    assert file.read_text().strip() not in str(told.value)
