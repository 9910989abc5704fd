"""What an outbox refuses before it asks PostgreSQL."""

import pytest

from sidecypher_procedures.sync.errors import InvalidEvent, SyncSettingsError
from sidecypher_procedures.sync.postgres.decisions import decisions_in
from sidecypher_procedures.sync.postgres.outbox import PostgresOutbox, add_event
from sidecypher_procedures.sync.postgres.settings import PostgresSettings, postgres_url
from sidecypher_procedures.sync.streams import Entry


@pytest.mark.parametrize(
    ("run", "event", "told"),
    [
        ("", {"type": "userMessage"}, "id of the run has 0 characters"),
        ("r", {}, "type"),
        ("r", {"type": "nothing"}, "no type of events"),
        ("r", {"type": "userMessage", "content": "x" * 16_000_000}, "16000000 bytes"),
        ("r", {"type": "userMessage", "content": "\ud800"}, "surrogate"),
        ("r", {"type": "userMessage", "id": "a\0b"}, "zero character"),
        ("a\0b", {"type": "userMessage"}, "zero character"),
    ],
    ids=["no run", "no type", "other type", "16 MB", "surrogate", "zero in id", "zero in run"],
)
def test_an_event_that_cannot_be_written_is_not_added(run, event, told):
    """The error names the field; no statement is sent."""
    with pytest.raises(InvalidEvent, match=told):
        next(add_event("sidecypher", run, event))


def test_only_an_action_with_a_name_decides_about_a_plan():
    """Other programs may have an `action` of any kind in the metadata of their events."""
    told = {"draftId": "d", "planId": "p", "userId": "ann"}
    actions = ["approve", ["approve"], {"approve": True}, "edit", None]
    events = [{"id": "e", "metadata": {**told, "action": action}} for action in actions]
    [decision] = decisions_in(Entry("1", "r", event) for event in events)
    assert decision["action"] == "approve"


def test_the_environment_names_the_schema(monkeypatch):
    """`SIDECYPHER_POSTGRES_SCHEMA` is what tables are in; what is no plain name is refused."""
    monkeypatch.setenv("SIDECYPHER_POSTGRES_SCHEMA", "events")
    assert PostgresSettings.load().namespace == "events"
    monkeypatch.setenv("SIDECYPHER_POSTGRES_SCHEMA", 'x"; DROP')
    with pytest.raises(SyncSettingsError, match="SIDECYPHER_POSTGRES_SCHEMA"):
        PostgresOutbox()


@pytest.mark.parametrize("url", [None, "", "http://localhost", "localhost"])
def test_an_address_that_is_none_is_told(monkeypatch, url):
    """The error names the variable, and not what is in it."""
    monkeypatch.delenv("SIDECYPHER_POSTGRES_URL", raising=False)
    if url is not None:
        monkeypatch.setenv("SIDECYPHER_POSTGRES_URL", url)
    with pytest.raises(SyncSettingsError) as raised:
        postgres_url()
    assert "SIDECYPHER_POSTGRES_URL" in f"{raised.value}{raised.value.hint}"
