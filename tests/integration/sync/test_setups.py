"""How Redis is set up: what is refused, and what is told."""

import asyncio
import socket

import pytest
from fix_waiting import wait_until

from sidecypher_procedures.sync.connection import check_server, open_async_redis
from sidecypher_procedures.sync.errors import RedisUnavailable, RedisUnsuitable, SyncSettingsError
from sidecypher_procedures.sync.publisher import AsyncRunPublisher, RunPublisher

EVENT = {"type": "userMessage", "content": "x" * 10_000}


def check(url):
    """Return the warnings about a Redis."""

    async def checked():
        async with open_async_redis(url) as redis:
            return await check_server(redis)

    return asyncio.run(checked())


def publish(url, event=EVENT, partitions=4):
    with RunPublisher.connect(url, partitions=partitions) as publisher:
        return publisher.publish("r", event)


def test_a_redis_that_keeps_its_events_has_no_warning(redis_server):
    """With `appendonly yes` there is nothing to tell."""
    assert check(redis_server.url) == []


def test_a_redis_that_may_lose_events_is_told(own_redis):
    """The consumer works with it, and warns."""
    [warning] = check(own_redis("--appendonly", "no").url)
    assert "appendonly yes" in warning


def test_a_redis_that_removes_keys_is_refused(own_redis):
    """With an evicting policy Redis would remove streams when its memory is full."""
    with pytest.raises(RedisUnsuitable, match="allkeys-lru"):
        check(own_redis("--maxmemory-policy", "allkeys-lru").url)


def test_a_replica_is_refused(own_redis):
    """Neither consumer nor publisher can write to a replica."""
    replica = own_redis("--replicaof", "127.0.0.1", "1")
    with pytest.raises(RedisUnsuitable, match="replica"):
        check(replica.url)
    with pytest.raises(RedisUnsuitable, match="replica"):
        publish(replica.url)


def test_a_wrong_password_is_told_without_it(own_redis):
    """The error says what to correct, and shows no password."""
    secured = own_redis()
    secured.client.config_set("requirepass", "right-password")
    for url in (secured.url, f"{secured.url}?password=wrong-password"):
        with pytest.raises(RedisUnavailable) as raised:
            publish(url)
        assert "password" in raised.value.message
        assert "wrong-password" not in f"{raised.value}{raised.value.hint}"
    assert publish(f"{secured.url}?password=right-password")


def test_full_memory_is_an_error_and_loses_nothing(own_redis):
    """With `noeviction`, publishing fails when memory is full; what was confirmed stays."""
    full = own_redis("--maxmemory", "4mb", "--maxmemory-policy", "noeviction")
    published = []

    def fill(publisher):
        while True:
            published.append(publisher.publish("r", EVENT))

    with (
        RunPublisher.connect(full.url, partitions=1) as publisher,
        pytest.raises(RedisUnavailable, match="no memory left") as raised,
    ):
        fill(publisher)
    assert raised.value.details["eventId"] not in published
    assert full.client.xlen("wf:events:0") == len(published)


def test_another_number_of_partitions_is_refused(redis_server):
    """The first publisher decides; another number would put one run into two streams."""
    publish(redis_server.url, partitions=4)
    with pytest.raises(SyncSettingsError, match="4 partitions, not 8"):
        publish(redis_server.url, partitions=8)
    assert len(redis_server.client.keys("wf:events:*")) == 1


def test_a_server_without_tls_is_an_error(own_redis):
    """With `rediss://` and a server that speaks no TLS, publishing fails and says so."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    own_redis("--port", str(port))
    with pytest.raises(RedisUnavailable, match=r"in time|be reached"):
        publish(f"rediss://127.0.0.1:{port}?socket_timeout=1&socket_connect_timeout=1")


def test_async_publishers_publish_the_same(redis_server):
    """The async publisher adds the entry that the other one adds."""

    async def published():
        async with AsyncRunPublisher.connect(redis_server.url, partitions=1) as publisher:
            return await publisher.publish("r", {"type": "userMessage", "id": "e1"})

    assert asyncio.run(published()) == "e1"
    publish(redis_server.url, {"type": "userMessage", "id": "e1"}, partitions=1)
    (_, one), (_, other) = redis_server.client.xrange("wf:events:0")
    assert one == other


def test_a_lost_connection_is_opened_again(own_redis):
    """A publisher goes on after Redis was restarted."""
    server = own_redis()
    with RunPublisher.connect(server.url, partitions=1) as publisher:
        publisher.publish("r", EVENT)
        server.kill()
        with pytest.raises(RedisUnavailable):
            publisher.publish("r", EVENT)
        server.start()
        publisher.publish("r", EVENT)
    assert server.client.xlen("wf:events:0") == 2


@pytest.mark.slow
def test_the_users_of_the_page_can_publish_and_consume(redis_users, sync):
    """The rights that the page names are enough for a publisher, a consumer and its commands."""
    sync.variables["SIDECYPHER_REDIS_URL"] = redis_users["sync"]
    run = sync.new_run()
    sync.start(SIDECYPHER_SYNC_METRICS_PORT="0")
    with RunPublisher.connect(redis_users["publisher"], partitions=4) as publisher:
        publisher.publish(run, {"type": "userMessage", "content": "message 0"})
        publisher.publish("missing", {"type": "userMessage", "content": "message 1"})
    sync.await_contents(run, ["message 0"])
    wait_until(lambda: len(sync.dead()) == 1)
    assert sync.command("drop", "missing") == {"dropped": 1}
    assert sum(each["pending"] for each in sync.command("status")) == 0
    assert "redis_away" not in sync.log, sync.log
