"""The example of docs/sync.md, against a real Redis."""

import pytest
from docs.pages import ROOT, blocks

PARTITIONS = 4


@pytest.mark.slow
def test_the_example_of_the_page_runs(sync, monkeypatch):
    """The event that the page publishes reaches its run."""
    monkeypatch.setenv("SIDECYPHER_SYNC_PARTITIONS", str(PARTITIONS))
    [block] = blocks("python neo4j", pages=[ROOT / "docs/sync.md"])
    sync.runs.one("create", "test", {"id": "triage-7"})
    sync.publish("triage-7", "before")
    sync.start()

    exec(block.text.replace("redis://localhost:6379", sync.url))

    sync.await_contents("triage-7", ["before", "It fails"])
