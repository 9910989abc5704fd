"""What a publisher refuses before it asks Redis."""

from datetime import UTC, datetime

import pytest

from sidecypher_procedures.sync.errors import InvalidEvent, RedisUnavailable, SyncSettingsError
from sidecypher_procedures.sync.publisher import AsyncRunPublisher, RunPublisher

NOWHERE = "unix:///nowhere/redis.sock?password=secret-of-tests"


@pytest.fixture
def publisher():
    with RunPublisher.connect(NOWHERE) as publisher:
        yield publisher


@pytest.mark.parametrize(
    ("run", "event", "told"),
    [
        ("", {"type": "userMessage"}, "id of the run has 0 characters"),
        ("r" * 201, {"type": "userMessage"}, "id of the run has 201 characters"),
        ("r", {}, "type"),
        ("r", {"type": "nothing"}, "no type of events"),
        ("r", {"type": "userMessage", "contents": "x"}, "no field `contents`"),
        ("r", {"type": "userMessage", "content": 7}, "`event.content`.*neither a MAP nor a STRING"),
        ("r", {"type": "userMessage", "content": "x" * 16_000_000}, "16000000 bytes"),
        ("r", {"type": "userMessage", "content": "\ud800"}, "surrogate"),
        ("r", {"type": "userMessage", "createdAt": datetime.now()}, "LOCAL DATETIME"),  # noqa: DTZ005
        ("r", {"type": "userMessage", "id": "x" * 201}, "event.id"),
        ("r", {"type": "userMessage", "metadata": {"x": object()}}, "event"),
    ],
    ids=lambda value: None if isinstance(value, dict) else str(value)[:20],
)
def test_an_event_that_the_graph_would_refuse_is_not_published(publisher, run, event, told):
    """The error names the field; it does not need Redis, and shows no content."""
    with pytest.raises(InvalidEvent, match=told):
        publisher.publish(run, event)


def test_an_event_that_could_not_be_published_keeps_its_id(publisher):
    """The error has the id for the retry, and neither address nor password."""
    event = {"type": "userMessage", "createdAt": datetime.now(UTC)}
    with pytest.raises(RedisUnavailable) as raised:
        publisher.publish("r", event)
    with pytest.raises(RedisUnavailable) as again:
        publisher.publish("r", {**event, "id": raised.value.details["eventId"]})
    assert again.value.details == raised.value.details
    assert raised.value.retryable
    assert "secret-of-tests" not in f"{raised.value}{raised.value.hint}{raised.value.details}"


@pytest.mark.parametrize("url", ["http://localhost", "redis://localhost:port", "localhost"])
@pytest.mark.parametrize("kind", [RunPublisher, AsyncRunPublisher])
def test_an_address_that_is_none_is_refused(kind, url):
    """A wrong address is an error of its own, before anything is published."""
    with pytest.raises(SyncSettingsError):
        kind.connect(url)
