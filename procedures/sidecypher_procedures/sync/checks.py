"""Checks of `sidecypher doctor`: Redis, what waits in it, and its clock."""

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from sidecypher import CannotCheck, Check, CheckContext, Finding
from sidecypher_procedures.sync.errors import SyncError
from sidecypher_procedures.sync.settings import RedisSettings, SyncSettings, redis_url

if TYPE_CHECKING:
    from sidecypher_procedures.sync.status import PartitionStatus

_OLD_SECONDS: Final = 60.0
"""With an older event that is not in the graph, the consumer is too slow or does not run."""

_CLOCK_SECONDS: Final = 60.0
"""The largest accepted clock offset: ids of events hold the time of their publishers."""

_CHANGE_SECONDS: Final = 600.0
"""With an older change, nobody publishes or removes those in the outbox."""

_NONE: Final = Finding.ok("none is named")

_Answer = TypeVar("_Answer")


def look_at_connection(_ctx: CheckContext) -> Finding:
    """Check that Redis answers, and how it is set up."""
    if RedisSettings.load().url is None:
        return _NONE
    try:
        warnings = _in_redis(_warnings)
    except SyncError as error:
        return Finding.error(f"{error.message} [{error.code}]", error.hint or "Start it again.")
    if warnings:
        return Finding.warn("; ".join(warnings), "See docs/sync.md on how to set it up.")
    return Finding.ok("it answers, and keeps what it confirms")


def look_at_lag(_ctx: CheckContext) -> Finding:
    """Check that consumers keep up with publishers."""
    if RedisSettings.load().url is None:
        return _NONE
    found = _asked(_status)
    waiting = sum(each.lag + each.pending for each in found)
    oldest = max(each.oldest_seconds for each in found)
    text = f"{waiting} events wait, the oldest for {oldest:.0f} s"
    if not any(each.consumer for each in found):
        return Finding.warn(f"{text}; no consumer runs", "Run `sidecypher sync run`.")
    if oldest > _OLD_SECONDS:
        return Finding.warn(text, "Look for `sync.away` in the consumer's log.")
    return Finding.ok(text)


def look_at_dead_letters(_ctx: CheckContext) -> Finding:
    """Check that every event could be written."""
    if RedisSettings.load().url is None:
        return _NONE
    found = _asked(_status)
    dead, parked = sum(each.dead for each in found), sum(each.parked for each in found)
    if dead:
        return Finding.warn(
            f"{dead} events, {parked} runs are parked", "`sidecypher sync dead` says why."
        )
    return Finding.ok("no event")


def look_at_clock(_ctx: CheckContext) -> Finding:
    """Compare this machine's clock with that of Redis."""
    if RedisSettings.load().url is None:
        return _NONE
    seconds, _ = _asked(lambda redis: redis.time())
    offset = time.time() - seconds
    if abs(offset) > _CLOCK_SECONDS:
        way = "ahead of" if offset > 0 else "behind"
        return Finding.warn(f"it is {abs(offset):.0f} s {way} Redis's", "Have both set by NTP.")
    return Finding.ok("it agrees with Redis's")


def look_at_changes(ctx: CheckContext) -> Finding:
    """Check that somebody publishes or removes the watched changes."""
    rows = ctx.call_in_neo4j("sidecypher.changes", 0, {"limit": 1})
    if not rows:
        return Finding.ok("no change waits")
    age = time.time() - rows[0]["at"].timestamp()
    if age > _CHANGE_SECONDS:
        return Finding.warn(
            f"the oldest change waits for {age:.0f} s",
            "Run `sidecypher sync run`, or remove changes by `sidecypher.dropChanges`.",
        )
    return Finding.ok(f"the oldest change waits for {age:.0f} s")


async def _warnings(redis: Any) -> list[str]:
    from sidecypher_procedures.sync.connection import check_server  # noqa: PLC0415

    return await check_server(redis)


async def _status(redis: Any) -> list["PartitionStatus"]:
    from sidecypher_procedures.sync.status import read_status  # noqa: PLC0415

    return await read_status(redis, SyncSettings.load().partitions)


def _asked(work: Callable[[Any], Awaitable[_Answer]]) -> _Answer:
    try:
        return _in_redis(work)
    except SyncError as error:
        raise CannotCheck(error.message, "See the check `connection`.") from None


def _in_redis(work: Callable[[Any], Awaitable[_Answer]]) -> _Answer:
    # Before the import that needs the library, since its error says what to install.
    url = redis_url()
    from sidecypher_procedures.sync.connection import ask_redis  # noqa: PLC0415

    return ask_redis(url, work)


CHECKS: Final = (
    Check("Redis", "connection", look_at_connection),
    Check("Redis", "lag", look_at_lag),
    Check("Redis", "dead letters", look_at_dead_letters),
    Check("Redis", "clock", look_at_clock),
    Check("Redis", "changes", look_at_changes),
)
