"""An entity is one entry, an invalidation wins, and one run serves many callers."""

import asyncio
from collections import OrderedDict
from datetime import UTC, datetime

import pytest

from sidecypher import EncodedRow, Row
from sidecypher_procedures.github.cache import Clock, EntityCache, Entry, MemoryStore, SingleFlight
from sidecypher_procedures.github.errors import NotFound

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def entry(size: int = 0, lifetime: float = 100.0, **more: object) -> Entry:
    """Make an entry checked at 10 s."""
    made = {"missing": None, "etag": None, "checked_at": 10.0, **more}
    return Entry(EncodedRow(Row, bytes(size)), lifetime=lifetime, **made)


def test_age_and_lifetime_both_bound_freshness() -> None:
    """An entry is fresh below the caller's age and its own lifetime; age 0 is never fresh."""
    assert entry().is_fresh(60.0, now=69.9)
    assert not entry().is_fresh(60.0, now=70.0)
    assert not entry().is_fresh(0.0, now=10.0)
    assert not entry(lifetime=3.0).is_fresh(60.0, now=13.0)


PATH = "/repos/o/r/issues/7"
NEW = "/repos/o/new/issues/7"


@pytest.fixture
def cache() -> EntityCache:
    """A cache in which no time passes."""
    return EntityCache(MemoryStore(100_000), Clock(lambda: 10.0, lambda: NOW))


def test_an_entry_is_its_credentials_alone(cache) -> None:
    """What one token was given no other is."""
    cache.put("a", PATH, entry(), since=0)

    assert cache.get("a", PATH) == entry()
    assert cache.get("b", PATH) is None


def test_a_long_path_counts_for_the_size() -> None:
    """A path and its parameters may be longer than the answer."""
    path = "/repos/o/r//search?q=" + "x" * 8_000
    store = MemoryStore(20_000)

    for number in range(5):
        store.put(("a", f"{path}{number}"), entry())

    assert len(store.below("")) == 2
    assert store.bytes == sum(len(path) + 1 + entry().size for _ in range(2))
    store.drop(f"{path}3")
    store.drop(f"{path}4")
    assert store.bytes == 0


def test_only_its_repository_is_searched_by_an_invalidation() -> None:
    """A push to one of many repositories looks at no entry of the others."""
    store = MemoryStore(1_000_000)
    for number in range(50):
        store.put(("a", f"/repos/o/{number}/issues/7"), entry())
    store.put(("b", "/repos/o/1"), entry())

    class Entries(OrderedDict):
        def __iter__(self):
            raise AssertionError("all entries are looked at")

    store._entries = Entries(store._entries.items())
    assert store.below("/repos/o/1") == {"/repos/o/1", "/repos/o/1/issues/7"}
    assert store.below("/repos/o/1/issues") == {"/repos/o/1/issues/7"}
    assert store.drop("/repos/o/1/issues/7") == 1
    assert store.below("/repos/o/1") == {"/repos/o/1"}
    assert store.below("/repos/o/no") == set()
    assert len(store.below("")) == 50


def test_a_renamed_entity_is_one_entry(cache) -> None:
    """What GitHub says is elsewhere is found by the old name and the new one, and kept once."""
    moved = entry(path=NEW, node="issue 1")
    cache.put("a", PATH, moved, since=0)

    assert cache.get("a", PATH) == cache.get("a", NEW) == moved
    assert cache.invalidate(PATH) == 1
    assert cache.get("a", PATH) is cache.get("a", NEW) is None


@pytest.mark.parametrize(("asked", "below"), [(PATH, False), ("/repos/o/r", True)])
def test_an_invalidated_name_leads_nowhere(cache, asked, below) -> None:
    """An old name that is invalidated, or whose repository is, is no name of another any more."""
    cache.put("a", PATH, entry(path=NEW, node="issue 1"), since=0)
    cache.invalidate(asked, below=below)
    cache.put("a", NEW, entry(path=NEW, node="issue 1"), since=cache.generation)

    assert cache.path(PATH) == PATH
    assert cache.get("a", PATH) is None


def test_what_was_kept_under_an_old_name_is_found_by_its_identity(cache) -> None:
    """A rename is noticed by the node id: the old name leads to the entry of the new one."""
    cache.put("a", PATH, entry(path=PATH, node="issue 1"), since=0)
    renamed = entry(path=NEW, node="issue 1")
    cache.put("a", NEW, renamed, since=0)

    assert cache.get("a", PATH) == renamed
    assert cache.invalidate(NEW) == 1


def test_a_name_that_is_used_again_is_its_new_owners(cache) -> None:
    """When GitHub says that an old name is one again, it leads nowhere else."""
    cache.put("a", PATH, entry(path=NEW, node="issue 1"), since=0)
    other = entry(path=PATH, node="issue 2")
    cache.put("a", PATH, other, since=0)

    assert cache.get("a", PATH) == other
    assert cache.get("a", NEW) == entry(path=NEW, node="issue 1")


def test_what_is_missing_under_an_old_name_is_not_missing_under_the_new(cache) -> None:
    """A 404 for an old name ends what was known of it, and no more."""
    cache.put("a", PATH, entry(path=NEW, node="issue 1"), since=0)
    cache.put("a", PATH, entry(missing=NotFound), since=0)

    assert cache.get("a", PATH) == entry(missing=NotFound)
    assert cache.get("a", NEW) == entry(path=NEW, node="issue 1")


@pytest.mark.parametrize("dropped", [PATH, NEW])
def test_an_answer_under_way_cannot_undo_an_invalidation(cache, dropped) -> None:
    """What was asked for before an invalidation, by whatever name, is not kept after it."""
    since = cache.generation
    cache.invalidate(dropped)
    cache.put("a", PATH, entry(path=NEW), since)

    assert cache.get("a", PATH) is None
    cache.put("a", PATH, entry(path=NEW), cache.generation)
    assert cache.get("a", PATH) is not None


def test_an_invalidation_concerns_nothing_else(cache) -> None:
    """What is under way for another issue of the repository is kept."""
    since = cache.generation
    cache.invalidate("/repos/o/r/issues/8")
    cache.put("a", PATH, entry(), since)

    assert cache.get("a", PATH) is not None


def test_a_repository_goes_with_all_that_is_in_it(cache) -> None:
    """All entries of a repository are dropped for all credentials, and no others."""
    other = "/repos/o/r2/issues/7"
    for path in ("/repos/o/r", PATH, "/repos/o/r/pulls/8", other):
        for credential in "ab":
            cache.put(credential, path, entry(), since=0)

    assert cache.invalidate("/repos/o/r", below=True) == 6
    assert cache.get("a", PATH) is None
    assert cache.get("b", other) is not None


def test_a_repository_may_go_alone(cache) -> None:
    """What is in it stays, and what is under way of it is kept."""
    cache.put("a", "/repos/o/r", entry(), since=0)
    cache.put("a", "/repos/o/r/pulls/8", entry(), since=0)

    assert cache.invalidate("/repos/o/r") == 1
    cache.put("a", "/repos/o/r", entry(), since=0)
    cache.put("a", PATH, entry(), since=0)
    kept = [cache.get("a", path) for path in ("/repos/o/r", "/repos/o/r/pulls/8", PATH)]

    assert kept == [None, entry(), entry()]


def test_the_pull_requests_of_a_repository_may_go(cache) -> None:
    """Those that are kept and those under way; its issues stay, and so does the repository."""
    paths = ["/repos/o/r", "/repos/o/r/pulls/8", PATH]
    for path in paths:
        cache.put("a", path, entry(), since=0)

    assert cache.invalidate("/repos/o/r/pulls", below=True) == 1
    assert [cache.get("a", path) for path in paths] == [entry(), None, entry()]
    for path in paths:
        cache.put("a", path, entry(1), since=0)
    assert [cache.get("a", path) for path in paths] == [entry(1), None, entry(1)]


def test_a_repository_goes_under_its_old_name_too(cache) -> None:
    """What was found under the old name of a repository goes with it, wherever it is now."""
    cache.put("a", PATH, entry(path=NEW, node="issue 1"), since=0)

    assert cache.invalidate("/repos/o/r", below=True) == 1
    assert cache.get("a", NEW) is None


def test_a_repository_goes_when_its_old_name_turns_out_to_be_its(cache) -> None:
    """What was invalidated by a name that led nowhere then is not kept under the new one."""
    cache.put("a", NEW, entry(), since=0)
    cache.invalidate("/repos/o/r", below=True)
    repository = entry(path="/repos/o/new", node="repository 1")
    cache.put("a", "/repos/o/r", repository, since=cache.generation)
    under_way = "/repos/o/new/pulls/8"
    cache.put("a", under_way, entry(), since=0)

    assert cache.get("a", "/repos/o/new") == repository
    assert cache.get("a", NEW) is cache.get("a", under_way) is None


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
