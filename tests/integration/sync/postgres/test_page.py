"""The example of docs/postgres.md, against a real PostgreSQL."""

import pytest
from docs.pages import ROOT, blocks


@pytest.mark.slow
def test_the_example_of_the_page_runs(outbox):
    """The event that the page adds reaches its run."""
    [block] = blocks("python neo4j", pages=[ROOT / "docs/postgres.md"])
    outbox.runs.one("create", "test", {"id": "triage-8"})
    outbox.start()

    exec(block.text.replace("postgresql://localhost/app", outbox.postgres.url))

    outbox.await_contents("triage-8", ["It fails"])


@pytest.mark.slow
def test_the_rights_of_the_page_are_enough(outbox):
    """A program and a worker with the rights that the page lists do all that they need."""
    run = outbox.new_run()
    outbox.postgres.run(
        "CREATE ROLE program LOGIN; CREATE ROLE worker LOGIN;"
        "GRANT USAGE ON SCHEMA sidecypher TO program, worker;"
        "GRANT SELECT, INSERT ON sidecypher.outbox TO program;"
        "GRANT SELECT ON sidecypher.migrations TO worker;"
        "GRANT SELECT, UPDATE, DELETE ON sidecypher.outbox TO worker"
    )
    try:
        url = outbox.postgres.url
        outbox.start(SIDECYPHER_POSTGRES_URL=outbox.postgres.url_of("worker"))
        outbox.postgres.url = outbox.postgres.url_of("program")
        outbox.add(run, "message 0", id="e1")
        outbox.add(run, "message 0", id="e1")
        outbox.await_contents(run, ["message 0"])
    finally:
        outbox.postgres.url = url
        outbox.stop()
        outbox.postgres.run("DROP OWNED BY program, worker; DROP ROLE program, worker")
