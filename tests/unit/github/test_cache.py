"""Entries are bounded, and one run serves many callers."""

import asyncio
from datetime import UTC, datetime

from sidecypher_procedures.github.cache import EntityCache, Entry, SingleFlight

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def entry(size: int = 1, lifetime: float = 100.0) -> Entry:
    """Make an entry checked at 10 s."""
    return Entry({}, None, None, NOW, checked_at=10.0, lifetime=lifetime, size=size)


def test_age_and_lifetime_both_bound_freshness() -> None:
    """An entry is fresh below the caller's age and its own lifetime; age 0 is never fresh."""
    assert entry().is_fresh(60.0, now=69.9)
    assert not entry().is_fresh(60.0, now=70.0)
    assert not entry().is_fresh(0.0, now=10.0)
    assert not entry(lifetime=3.0).is_fresh(60.0, now=13.0)


def test_the_least_recently_used_entry_makes_room() -> None:
    """Sizes together stay within the bound; what was used last stays."""
    cache = EntityCache(max_bytes=10)
    cache.put("a", entry(5))
    cache.put("b", entry(5))
    cache.get("a")
    cache.put("c", entry(5))

    assert [key for key in "abc" if cache.get(key)] == ["a", "c"]


def test_an_entry_larger_than_the_cache_replaces_the_old_one_by_none() -> None:
    """A too large entry is not kept, and neither is the outdated one of its key."""
    cache = EntityCache(max_bytes=10)
    cache.put("a", entry(5))
    cache.put("a", entry(11))

    assert cache.get("a") is None


def test_callers_of_one_key_share_one_run() -> None:
    """Fifty callers at once are served by one run, and the next one starts another."""

    async def scenario() -> None:
        flights: SingleFlight[int] = SingleFlight()
        runs = 0

        async def work() -> int:
            nonlocal runs
            runs += 1
            await asyncio.sleep(0)
            return runs

        first = await asyncio.gather(*(flights.run("k", work) for _ in range(50)))

        assert first == [1] * 50
        assert await flights.run("k", work) == 2

    asyncio.run(scenario())


def test_a_cancelled_caller_kills_nobody() -> None:
    """The other callers get the result when one of them, even the first, is cancelled."""

    async def scenario() -> None:
        flights: SingleFlight[str] = SingleFlight()
        go = asyncio.Event()

        async def work() -> str:
            await go.wait()
            return "done"

        callers = [asyncio.create_task(flights.run("k", work)) for _ in range(3)]
        await asyncio.sleep(0)
        callers[0].cancel()
        await asyncio.wait([callers[0]])
        go.set()

        assert callers[0].cancelled()
        assert await asyncio.gather(*callers[1:]) == ["done", "done"]

    asyncio.run(scenario())


def test_the_last_caller_takes_the_run_along() -> None:
    """When nobody waits any more the run is cancelled, and a newcomer starts a new one."""

    async def scenario() -> None:
        flights: SingleFlight[str] = SingleFlight()
        stopped = asyncio.Event()

        async def endless() -> str:
            try:
                await asyncio.Event().wait()
            finally:
                stopped.set()
            return "never"

        async def quick() -> str:
            return "new"

        caller = asyncio.create_task(flights.run("k", endless))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        caller.cancel()
        await asyncio.wait([caller])

        assert await flights.run("k", quick) == "new"
        await stopped.wait()

    asyncio.run(scenario())


def test_every_caller_gets_the_error() -> None:
    """An error of the run reaches all who wait for it, and is not remembered."""

    async def scenario() -> None:
        flights: SingleFlight[str] = SingleFlight()

        async def broken() -> str:
            await asyncio.sleep(0)
            raise LookupError

        async def quick() -> str:
            return "new"

        results = await asyncio.gather(
            *(flights.run("k", broken) for _ in range(3)), return_exceptions=True
        )

        assert [type(result) for result in results] == [LookupError] * 3
        assert await flights.run("k", quick) == "new"

    asyncio.run(scenario())
