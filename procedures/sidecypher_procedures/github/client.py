"""Entities from GitHub: cached, confirmed by ETag, one request for all who want the same."""

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import fields, replace
from datetime import datetime
from functools import partial
from typing import Any, Final

import httpx
import msgspec

from sidecypher import EncodedRow, SidecypherError
from sidecypher_procedures.github import errors, responses
from sidecypher_procedures.github.auth import read_credentials
from sidecypher_procedures.github.cache import Clock, EntityCache, Entry, MemoryStore, SingleFlight
from sidecypher_procedures.github.connection import Connection
from sidecypher_procedures.github.entities import (
    READERS,
    Identity,
    ShapeError,
    place,
    read_identity,
)
from sidecypher_procedures.github.graphql import Found, closing_references, fetch_all
from sidecypher_procedures.github.graphql_documents import LARGEST_NUMBER
from sidecypher_procedures.github.model import Extent, Kind, Target
from sidecypher_procedures.github.options import Api
from sidecypher_procedures.github.rate_limits import TRIES, listed_in, retrying, used_up
from sidecypher_procedures.github.responses import Reply
from sidecypher_procedures.github.rows import ROWS, Credentials, RateLimit
from sidecypher_procedures.github.settings import GithubSettings

# GitHub computes `mergeable` after it was first asked for, within seconds.
_PENDING_SECONDS: Final = 3.0
# One call of GraphQL costs as much as some of REST, and its answers have no ETag.
_MOST_BY_REST: Final = 20
_KEYS_PER_QUERY: Final = 100
_QUERIES_AT_A_TIME: Final = 4

_Work = Callable[[], Coroutine[Any, Any, Entry]]


class Snapshot(msgspec.Struct, frozen=True, gc=False):
    """An entity as GitHub last gave it; the identity is None if the answer did not have it."""

    row: EncodedRow[Any]
    identity: Identity | None = None

    @property
    def fields(self) -> Mapping[str, Any]:
        """The values of the row by their Python names."""
        row = self.row.decode()
        return {field.name: getattr(row, field.name) for field in fields(row)}


class GithubClient:
    """Fetches repositories, issues and pull requests; one per sidecar, used from one event loop.

    What waits for GitHub has an argument `wait`, the seconds to wait at most.
    """

    def __init__(self, settings: GithubSettings | None = None, clock: Clock | None = None) -> None:
        self._settings = settings or GithubSettings.load()
        self._clock = clock or Clock()
        self._connection = Connection(self._settings, self._clock)
        self._cache = EntityCache(MemoryStore(self._settings.cache_bytes), self._clock)
        self._flights: SingleFlight[Entry] = SingleFlight()
        self._queries: SingleFlight[dict[Target, Found]] = SingleFlight()
        self._query_gate = asyncio.Semaphore(_QUERIES_AT_A_TIME)

    @property
    def _credential_key(self) -> str:
        # What one token may see must never be given to another, and a token may be replaced.
        return self._connection.credential_key

    @property
    def has_token(self) -> bool:
        """Tell whether GitHub's GraphQL API can be asked."""
        return self._connection.has_token

    async def stop(self) -> None:
        """Close the connections to GitHub."""
        await self._connection.close()

    async def get(
        self, target: Target, *, max_age: float = 60.0, wait: float = 30.0, api: Api = "auto"
    ) -> Snapshot:
        """Give the target, from memory if it is not older than `max_age` seconds.

        The age 0 always asks GitHub, with the ETag at hand. The API ``auto`` is REST.

        Raises:
            GithubError: GitHub gave no answer that can be used, and there is none to fall back on.
        """
        (result,) = await self.get_many([target], max_age=max_age, wait=wait, api=api)
        if isinstance(result, errors.GithubError):
            raise result
        return result

    async def get_many(
        self,
        targets: Iterable[Target],
        *,
        max_age: float = 60.0,
        wait: float = 30.0,
        api: Api = "auto",
    ) -> list[Snapshot | errors.GithubError]:
        """Give many targets of one kind in their order, or what went wrong with each.

        Equal ones are fetched once. The API ``auto`` is GraphQL, a hundred by one call, for more
        than twenty that are not in memory, if there is a token.

        Raises:
            InvalidOption: GraphQL is wanted, but there is no token.
        """
        if api == "graphql" and not self.has_token:
            raise errors.InvalidOption(
                "The option `api` cannot be 'graphql': GitHub's GraphQL API needs a token",
                hint="Set SIDECYPHER_GITHUB_TOKEN, or give 'auto' or 'rest'.",
            )
        wanted = list(targets)
        asker = self._credential_key
        now = self._clock.monotonic()
        found: list[Snapshot | errors.GithubError | None] = []
        for target in wanted:
            entry = self._cache.get(asker, target.key)
            fresh = entry is not None and entry.is_fresh(max_age, now)
            found.append(_settled(entry, target) if entry is not None and fresh else None)
        cold = [target for target, known in zip(wanted, found, strict=True) if known is None]
        fetched = await self._fetch_many(list(dict.fromkeys(cold)), wait, api) if cold else {}
        return [known or fetched[target] for target, known in zip(wanted, found, strict=True)]

    async def page(self, target: Target, *, wait: float = 30.0) -> tuple[Reply, str | None]:
        """Fetch one page of a list, which is not kept; give it and where the next one is.

        The page may be a 404 or 410.

        Raises:
            GithubError: There is no page, or the next one is outside of the base URL.
        """
        fetch = partial(self._fetch_page, target)
        async with _within(wait, f"`{target}`"):
            reply = await retrying(fetch, wait=wait, clock=self._clock)
        return reply, self._connection.next_page(target, reply)

    async def closing(self, pull: Target, *, wait: float = 30.0) -> list[tuple[Snapshot, Snapshot]]:
        """Fetch the first hundred issues that a pull request closes, each with its repository.

        They are not kept, and have the columns that a merge needs.

        Raises:
            GithubError: There is no such pull request, or GitHub's GraphQL API cannot be asked.
        """
        fetch = partial(closing_references, self._connection, pull, self._clock.now())
        async with _within(wait, f"`{pull}`"):
            found = await retrying(fetch, wait=wait, clock=self._clock)
        return [
            (self._fetched(Kind.ISSUE, issue, pull), self._fetched(Kind.REPOSITORY, home, pull))
            for issue, home in found
        ]

    def _fetched(self, kind: Kind, json: Mapping[str, Any], pull: Target) -> Snapshot:
        what = f"GitHub's answer for the {pull.kind.value} `{pull}`"
        with _telling(f"{what} names what is no {kind.value}"):
            _, row = _read(json, kind, self._clock.now())
        return Snapshot(row, read_identity(json))

    def now(self) -> datetime:
        """Give the time that answers are stamped with."""
        return self._clock.now()

    def invalidate(
        self, owner: str, repo: str, number: int | None = None, *, extent: Extent = Extent.ALL
    ) -> int:
        """Drop what is in memory of a repository and all in it, or of one number in it.

        What is being fetched now is given to who waits for it, and not kept. Where the name had
        moved to is forgotten too: it may be another's by now. Returns how many entries were
        dropped.

        Raises:
            InvalidName: A name or the number cannot be one.
        """
        if number is None:
            target = Target(Kind.REPOSITORY, owner, repo)
            dropped = self._forget(target.key, below=extent is Extent.ALL)
            if extent is Extent.PULL_REQUESTS:
                dropped += self._forget(target.pull_requests, below=True)
            return dropped
        # GitHub counts issues and pull requests together, and gives each pull request as both.
        numbered = [Target(kind, owner, repo, number) for kind in (Kind.ISSUE, Kind.PULL_REQUEST)]
        return sum(self._forget(target.key) for target in numbered)

    def _forget(self, key: str, *, below: bool = False) -> int:
        self._connection.forget_moves(key, below=below)
        return self._cache.invalidate(key, below=below)

    def _unless_invalidated(self, target: Target) -> Callable[[], bool]:
        """Give what tells whether the target has not been invalidated since now."""
        since = self._cache.generation
        return lambda: self._cache.invalidated(target.key) <= since

    async def _fetch_many(
        self, cold: list[Target], wait: float, api: Api
    ) -> dict[Target, Snapshot | errors.GithubError]:
        by_query = api == "graphql" or (
            api == "auto" and self.has_token and len(cold) > _MOST_BY_REST
        )
        works = self._works_by_query(cold, wait) if by_query else {}
        refreshed = await asyncio.gather(
            *(self._refresh(target, works.get(target), wait) for target in cold)
        )
        return dict(zip(cold, refreshed, strict=True))

    def _works_by_query(self, cold: list[Target], wait: float) -> dict[Target, _Work]:
        askable = [target for target in cold if (target.number or 0) <= LARGEST_NUMBER]
        since = self._cache.generation
        works: dict[Target, _Work] = {}
        for start in range(0, len(askable), _KEYS_PER_QUERY):
            together = tuple(askable[start : start + _KEYS_PER_QUERY])
            for target in together:
                works[target] = partial(self._fetch_by_query, target, together, since, wait)
        return works

    async def budgets(self, *, wait: float = 30.0) -> list[RateLimit]:
        """Give how many requests are left of each resource; none where there are no limits.

        No call is made when GitHub told all of them within a minute.

        Raises:
            GithubError: GitHub gave no answer that can be used.
        """
        fresh = self._connection.budgets.fresh()
        if fresh is not None:
            return fresh
        async with _within(wait, "the rate limit"):
            return await retrying(self._ask_for_budgets, wait=wait, clock=self._clock)

    async def credentials(self, *, wait: float = 30.0) -> Credentials:
        """Tell who asks GitHub, and what GitHub says of that.

        Raises:
            GithubError: GitHub gave no answer that can be used.
        """
        source = self._settings.source
        refused = Credentials(
            source=source, accepted=False, scopes=None, expires_at=None, clock_offset=None
        )
        try:
            async with _within(wait, "the rate limit"):
                reply = await self._connection.rate_limit()
        except errors.CredentialRevoked:
            return refused
        if reply.status == httpx.codes.UNAUTHORIZED:
            return refused
        if reply.status not in {httpx.codes.OK, httpx.codes.NOT_FOUND}:
            raise responses.failure(reply, "rate limit", self._clock.now())
        return read_credentials(source, reply.headers, self._clock.now())

    async def _fetch_page(self, target: Target) -> Reply:
        reply = await self._connection.get(target, self._unless_invalidated(target))
        if reply.status != httpx.codes.OK and reply.status not in responses.MISSING:
            raise responses.failure(reply, target, self._clock.now())
        return reply

    async def _ask_for_budgets(self) -> list[RateLimit]:
        reply = await self._connection.rate_limit()
        if reply.status == httpx.codes.NOT_FOUND:
            return []
        if reply.status != httpx.codes.OK:
            raise responses.failure(reply, "rate limit", self._clock.now())
        budgets = listed_in(responses.body(reply, "rate limit"))
        self._connection.budgets.note(budgets)
        return budgets

    async def _refresh(
        self, target: Target, query: _Work | None, wait: float
    ) -> Snapshot | errors.GithubError:
        """Fetch once for all who want the same, by the query or else by REST."""
        work = query or partial(self._fetch, target)
        # Nobody has to wait for a limit to end who can be given something now, and a query tries
        # again by itself, for all that it asks for.
        tries = TRIES if query is None and self._fallback(target) is None else 1
        path = self._cache.path(target.key)
        # Who comes after an invalidation must not share what began before it.
        flight = (self._credential_key, path, self._cache.invalidated(path))
        fetch = partial(self._flights.run, flight, work)
        try:
            async with _within(wait, f"`{target}`"):
                entry = await retrying(fetch, wait=wait, clock=self._clock, tries=tries)
                return _settled(entry, target)
        except errors.GithubError as error:
            known = self._fallback(target)
            if known is None or known.row is None or not error.transient:
                return error
        return Snapshot(_changed(known.row, stale=True), known.identity)

    def _fallback(self, target: Target) -> Entry | None:
        """Give what is better than a transient error, however old."""
        known = self._cache.get(self._credential_key, target.key)
        usable = self._settings.serve_stale and known is not None and known.missing is None
        return known if usable else None

    async def _fetch(self, target: Target) -> Entry:
        since = self._cache.generation
        asker = self._credential_key
        known = self._cache.get(asker, target.key)
        etag = known.etag if known is not None else None
        reply = await self._connection.get(target, self._unless_invalidated(target), etag)
        confirmed = reply.status == httpx.codes.NOT_MODIFIED and reply.credential_key == asker
        if confirmed and known is not None and known.row is not None and etag is not None:
            entry = msgspec.structs.replace(
                known,
                row=_changed(known.row, fetched_at=self._clock.now()),
                path=self._cache.path(target.key),
                checked_at=self._clock.monotonic(),
            )
        else:
            entry = self._entry(reply, target)
        self._cache.put(reply.credential_key, target.key, entry, since)
        return entry

    async def _fetch_by_query(
        self, target: Target, together: tuple[Target, ...], since: int, wait: float
    ) -> Entry:
        work = partial(self._query, together, wait)
        answers = await self._queries.run((self._credential_key, since, together), work)
        found, asker = answers[target].thing, answers[target].credential_key
        if found is None:
            return await self._fetch(target)
        if isinstance(found, errors.NotFound):
            entry = self._absent(errors.NotFound)
        elif isinstance(found, errors.RateLimited):
            raise used_up(f"`{target}`", found.reset_at, found.details.get("status")) from found
        elif isinstance(found, errors.GithubError):
            raise found
        else:
            entry = self._present(found, target)
        self._cache.put(asker, target.key, entry, since)
        return entry

    async def _query(self, targets: tuple[Target, ...], wait: float) -> dict[Target, Found]:
        """Ask for all together, and again for those that an error left without an answer."""
        found: dict[Target, Found] = {}
        try:
            await retrying(partial(self._ask, targets, found), wait=wait, clock=self._clock)
        except errors.GithubError as error:
            left = Found(error, self._credential_key)
            found |= {target: left for target in targets if target not in found}
        return found

    async def _ask(self, targets: tuple[Target, ...], found: dict[Target, Found]) -> None:
        """Ask for those that are not found, and put into it what there is."""
        left = [target for target in targets if target not in found]
        async with self._query_gate:
            async for part in fetch_all(self._connection, left, self._clock.now()):
                found |= part

    def _entry(self, reply: Reply, target: Target) -> Entry:
        missing = responses.MISSING.get(reply.status)
        if missing is not None:
            return self._absent(missing)
        if reply.status != httpx.codes.OK:
            raise responses.failure(reply, target, self._clock.now())
        json = responses.body(reply, target)
        return self._present(
            json, target, reply.headers.get("etag"), is_elsewhere=reply.is_elsewhere
        )

    def _absent(self, missing: type[errors.GithubError]) -> Entry:
        return Entry(
            row=None,
            missing=missing,
            etag=None,
            checked_at=self._clock.monotonic(),
            lifetime=self._settings.negative_ttl,
        )

    def _present(
        self,
        json: Mapping[str, Any],
        target: Target,
        etag: str | None = None,
        *,
        is_elsewhere: bool = True,
    ) -> Entry:
        with _telling(f"GitHub's answer for the {target.kind.value} `{target}` is none"):
            columns, row = _read(json, target.kind, self._clock.now())
        where = place(target.kind, columns) or target
        path = where.key
        is_other = path != target.key or columns.get("number", target.number) != target.number
        if is_other and not is_elsewhere:
            what = f"the {target.kind.value} `{target}`"
            raise errors.UnusableAnswer(f"GitHub's answer for {what} is about another one")
        node = columns["node_id"]
        return Entry(
            row=row,
            missing=None,
            etag=etag,
            checked_at=self._clock.monotonic(),
            lifetime=_lifetime(columns, target),
            path=None if path == target.key else path,
            # A pull request has one node id, also where it is given as an issue.
            node=node and f"{target.kind.value} {node}",
            identity=read_identity(json),
        )


def _read(
    json: Mapping[str, Any], kind: Kind, fetched_at: datetime
) -> tuple[dict[str, Any], EncodedRow[Any]]:
    """Read the columns, and write them as a row."""
    columns = READERS[kind](json)
    row = ROWS[kind](**columns, fetched_at=fetched_at, stale=False, error=None)
    return columns, EncodedRow.of(row)


@asynccontextmanager
async def _within(wait: float, what: str) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(wait):
            yield
    except TimeoutError as error:
        raise errors.TimedOut(f"GitHub did not answer in time for {what}") from error


@contextmanager
def _telling(what: str) -> Iterator[None]:
    """Tell what is wrong with an answer that cannot be read."""
    try:
        yield
    except ShapeError as error:
        raise errors.UnusableAnswer(f"{what}: {error}") from error
    except SidecypherError as error:
        raise errors.UnusableAnswer(f"{what}: {error.message}") from error


def _changed(row: EncodedRow[Any], **columns: object) -> EncodedRow[Any]:
    return EncodedRow.of(replace(row.decode(), **columns))


def _lifetime(columns: Mapping[str, Any], target: Target) -> float:
    pending = (
        target.kind is Kind.PULL_REQUEST
        and columns["mergeable"] is None
        and columns["state"] == "open"
    )
    return _PENDING_SECONDS if pending else math.inf


def _settled(entry: Entry, target: Target) -> Snapshot | errors.GithubError:
    if entry.row is None:
        return responses.absence(entry.missing or errors.NotFound, target)
    return Snapshot(entry.row, entry.identity)
