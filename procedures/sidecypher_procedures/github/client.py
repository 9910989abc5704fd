"""Client for GitHub's entities, with a cache, ETags and one request for concurrent callers."""

import asyncio
import math
from collections.abc import (
    AsyncIterator,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import httpx
import msgspec
from prometheus_client.metrics_core import Metric

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
from sidecypher_procedures.github.graphql import (
    Found,
    GraphqlRequest,
    answer,
    closing_references,
    fetch_all,
)
from sidecypher_procedures.github.graphql_documents import has_query
from sidecypher_procedures.github.model import Extent, Kind, Resource, Target
from sidecypher_procedures.github.options import Api
from sidecypher_procedures.github.rate_limits import TRIES, budgets_in, retrying, used_up
from sidecypher_procedures.github.responses import Reply
from sidecypher_procedures.github.rows import ROWS, Credentials, RateLimit, RawAnswer
from sidecypher_procedures.github.settings import GithubSettings
from sidecypher_procedures.github.sharing.claims import Claim, Claims, Group, open_shared

if TYPE_CHECKING:
    from sidecypher_procedures.github.sharing.shared import Found as SharedFound
    from sidecypher_procedures.github.sharing.shared import SharedCache

# GitHub computes `mergeable` within seconds after the first request for it.
_PENDING_SECONDS: Final = 3.0
# One GraphQL call costs as much as several REST calls, and its answers have no ETag.
_MOST_BY_REST: Final = 20
# After that Neo4j asks again, so that a credential which GitHub refuses is noticed.
_MOST_KEPT_SECONDS: Final = 60.0
_QUERIES_AT_A_TIME: Final = 4

_Work = Callable[[], Coroutine[Any, Any, Entry]]


class Snapshot(msgspec.Struct, frozen=True, gc=False):
    """The last known version of an entity; its identity is None if the answer had none."""

    row: EncodedRow[Any]
    identity: Identity | None = None

    @property
    def fields(self) -> Mapping[str, Any]:
        """The values of the row by their Python names."""
        row = self.row.decode()
        return msgspec.structs.asdict(row)


class GithubClient:
    """Client for repositories, issues and pull requests; one per sidecar, on one event loop.

    Methods that wait for GitHub have an argument `wait`, the most seconds to wait.
    """

    def __init__(self, settings: GithubSettings | None = None, clock: Clock | None = None) -> None:
        self._settings = settings or GithubSettings.load()
        self._clock = clock or Clock()
        self._shared = open_shared(self._settings, self._clock)
        self._follower: asyncio.Task[None] | None = None
        self._connection = Connection(self._settings, self._clock, self._shared)
        self._cache = EntityCache(MemoryStore(self._settings.cache_bytes), self._clock)
        self._flights: SingleFlight[Entry] = SingleFlight()
        self._queries: SingleFlight[dict[Target, Found]] = SingleFlight()
        self._looks: SingleFlight[dict[str, SharedFound]] = SingleFlight()
        self._kept_for = self._credential_key
        self._query_gate = asyncio.Semaphore(_QUERIES_AT_A_TIME)
        self.cached = 0
        """Number of targets that were answered without a request to GitHub."""

    @property
    def _credential_key(self) -> str:
        # Answers must never be served to another token, and a token may be replaced.
        return self._connection.credential_key

    @property
    def has_token(self) -> bool:
        """Whether there is a token, which GitHub's GraphQL API requires."""
        return self._connection.has_token

    @property
    def credential_source(self) -> str | None:
        """Name of the setting of the credential, None without one."""
        return self._settings.source

    @property
    def sent(self) -> int:
        """Number of requests to GitHub."""
        return self._connection.sent

    @property
    def unchanged(self) -> int:
        """Number of answers 304, which do not count towards the rate limit."""
        return self._connection.unchanged

    def known_budgets(self) -> list[RateLimit]:
        """Return the rate limits as the latest answers had them, without a request."""
        return self._connection.budgets.known()

    @property
    def generation(self) -> int:
        """Number of invalidations so far."""
        return self._cache.generation

    async def stop(self) -> None:
        """Close the connections to GitHub and Redis."""
        if self._follower is not None:
            # Before `stop` lets it end by itself: if it were cancelled while it closes its
            # connection, that would stay open.
            self._follower.cancel()
        await self._connection.close()
        if self._shared is not None:
            await self._shared.stop()
        if self._follower is not None:
            # `wait_for` of Python 3.11 may swallow a cancellation; then `stop` has ended it.
            await asyncio.wait([self._follower])

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics of the cache in Redis, if there is one."""
        if self._shared is not None:
            yield from self._shared.metrics()

    async def get(
        self, target: Target, *, max_age: float = 60.0, wait: float = 30.0, api: Api = "auto"
    ) -> Snapshot:
        """Return the target, from the cache if it is not older than `max_age` seconds.

        The age 0 always sends a request, with the cached ETag. The API ``auto`` is REST.

        Raises:
            GithubError: There is no usable answer, and no fallback in the cache.
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
        """Return targets of one kind in their order, or an error for each that failed.

        Equal targets are fetched once. The API ``auto`` uses GraphQL, with a hundred targets per
        call, if more than twenty are not in the cache and there is a token.

        Raises:
            InvalidOption: `api` is ``graphql``, but there is no token.
        """
        if api == "graphql" and not self.has_token:
            raise errors.no_token("The option `api` cannot be 'graphql'")
        self._check_credential()
        wanted = list(targets)
        looked_at: dict[str, int] = {}
        found = self._fresh(wanted, max_age)
        to_fetch = [target for target, known in found.items() if known is None]
        if to_fetch and self._shared is not None and not self._shared.is_away:
            looked_at = await self._look(self._shared, to_fetch)
            found |= self._fresh(to_fetch, max_age)
            to_fetch = [target for target in to_fetch if found[target] is None]
        self.cached += len(found) - len(to_fetch)
        fetched = await self._fetch_many(to_fetch, wait, api, looked_at) if to_fetch else {}
        return [found[target] or fetched[target] for target in wanted]

    def kept(self, target: Target, max_age: float) -> tuple[float, set[str]]:
        """Return how long Neo4j may keep the row of a target, and the row's tags.

        It is 0 seconds for what is not in the cache, or too old for the caller.
        """
        entry = self._cache.get(self._credential_key, target.key)
        if entry is None:
            return 0.0, set()
        age = self._clock.monotonic() - entry.checked_at
        longest = min(max_age, entry.lifetime, _MOST_KEPT_SECONDS)
        return max(0.0, longest - age), self._cache.tags(target.key)

    def _fresh(
        self, targets: list[Target], max_age: float
    ) -> dict[Target, Snapshot | errors.GithubError | None]:
        """Return what is in memory of targets, None for those that are not fresh."""
        credential_key = self._credential_key
        now = self._clock.monotonic()
        found: dict[Target, Snapshot | errors.GithubError | None] = {}
        for target in targets:
            entry = self._cache.get(credential_key, target.key)
            fresh = entry is not None and entry.is_fresh(max_age, now)
            found[target] = _result(entry, target) if entry is not None and fresh else None
        return found

    def _check_credential(self) -> None:
        """Make void what Neo4j keeps of answers to another credential."""
        if self._kept_for != self._credential_key:
            self._kept_for = self._credential_key
            self._cache.forget_rows()

    async def _look(self, shared: "SharedCache", targets: list[Target]) -> dict[str, int]:
        """Take into memory what Redis has of targets; return the time by its clock, by path."""
        if self._follower is None:
            self._follower = asyncio.create_task(shared.follow(self._forget_here))
        credential_key, since = self._credential_key, self._cache.generation
        paths = tuple(dict.fromkeys(self._cache.path(target.key) for target in targets))
        look = partial(shared.look, credential_key, paths)
        looked = await self._looks.run((credential_key, since, paths), look)
        for path, found in looked.items():
            known = self._cache.get(credential_key, path)
            if found.entry is not None and (
                known is None or known.checked_at < found.entry.checked_at
            ):
                self._cache.put(credential_key, path, found.entry, since)
        return {path: found.now for path, found in looked.items() if found.now is not None}

    async def answer(
        self, asked: Resource, *, max_age: float = 60.0, wait: float = 30.0
    ) -> Snapshot:
        """Return a page of the REST API or the answer to a query, as a row of `RawAnswer`.

        It is from the memory of this sidecar if it is not older than `max_age` seconds there.

        Raises:
            GithubError: There is no usable answer, and no fallback in the cache.
        """
        self._check_credential()
        known = self._cache.get(self._credential_key, asked.key)
        if known is not None and known.is_fresh(max_age, self._clock.monotonic()):
            self.cached += 1
            result = _result(known, asked)
        else:
            work = partial(self._fetch_answer, asked)
            result = await self._refresh(asked, work, wait, by_query=False)
        if isinstance(result, errors.GithubError):
            raise result
        return result

    async def _fetch_answer(self, asked: Resource) -> Entry:
        if not isinstance(asked, GraphqlRequest):
            return await self._fetch(asked, Claim(self._credential_key, asked.key, None, None))
        since = self._cache.generation
        data, following, credential_key = await answer(self._connection, asked, self._clock.now())
        entry = self._answer_entry(asked, [data], following)
        self._cache.put(credential_key, asked.key, entry, since)
        return entry

    async def page(self, target: Resource, *, wait: float = 30.0) -> tuple[Reply, str | None]:
        """Fetch one page of a list without caching; return it and the path of the next one.

        The page may be a 404 or 410.

        Raises:
            GithubError: There is no usable answer, or the next page is outside of the base URL.
        """
        fetch = partial(self._fetch_page, target)
        async with _within(wait, f"`{target}`"):
            reply = await retrying(fetch, wait=wait, clock=self._clock)
        return reply, self._connection.next_page(target, reply)

    def keep_issue(
        self,
        home: Target,
        json: Mapping[str, Any],
        fields: Mapping[str, Any],
        reply: Reply,
        since: int,
    ) -> None:
        """Cache an issue of a list, unless it was invalidated after the generation `since`.

        A pull request is not kept: a list returns less of it.
        """
        if not fields["is_pull_request"]:
            with suppress(errors.InvalidName):
                target = Target(Kind.ISSUE, home.owner, home.repo, fields["number"])
                entry = self._found_entry(json, target)
                self._cache.put(reply.credential_key, target.key, entry, since)

    async def closing(
        self, pulls: Sequence[Target], *, wait: float = 30.0
    ) -> list[list[tuple[Snapshot, Snapshot]]]:
        """Fetch the first hundred issues that each pull request closes, with their repositories.

        The pull requests are of one repository. The issues are not cached, and have the columns
        that a merge needs.

        Raises:
            GithubError: A pull request does not exist, or GitHub's GraphQL API failed.
        """
        fetch = partial(closing_references, self._connection, pulls, self._clock.now())
        async with _within(wait, f"`{pulls[0]}`"):
            found = await retrying(fetch, wait=wait, clock=self._clock)
        return [
            [
                (self._fetched(Kind.ISSUE, issue, pull), self._fetched(Kind.REPOSITORY, home, pull))
                for issue, home in references
            ]
            for pull, references in zip(pulls, found, strict=True)
        ]

    def _fetched(self, kind: Kind, json: Mapping[str, Any], pull: Target) -> Snapshot:
        what = f"GitHub's answer for the {pull.kind.value} `{pull}`"
        with _unusable_answers(f"{what} has no usable {kind.value}"):
            _, row = _read(json, kind, self._clock.now())
        return Snapshot(row, read_identity(json))

    def now(self) -> datetime:
        """Return the current time, for `fetched_at`."""
        return self._clock.now()

    def invalidate(
        self, owner: str, repo: str, number: int | None = None, *, extent: Extent = Extent.ALL
    ) -> int:
        """Drop the cache entries of a repository and its content, or of one number in it.

        Requests in flight are answered but not cached. Known redirects of the name are dropped too,
        since the name may belong to another repository now. Returns the number of dropped entries.

        Raises:
            InvalidName: A name or the number is not valid.
        """
        if number is None:
            target = Target(Kind.REPOSITORY, owner, repo)
            dropped = self._forget(target.key, below=extent is Extent.ALL)
            if extent is Extent.PULL_REQUESTS:
                dropped += self._forget(target.pull_requests, below=True)
            return dropped
        # GitHub numbers issues and pull requests together, and returns each pull request as both.
        numbered = [Target(kind, owner, repo, number) for kind in (Kind.ISSUE, Kind.PULL_REQUEST)]
        return sum(self._forget(target.key) for target in numbered)

    def _forget(self, key: str, *, below: bool = False) -> int:
        if self._shared is not None:
            for path in {key, self._cache.path(key)}:
                self._shared.invalidate(path, below=below)
        return self._forget_here(key, below)

    def _forget_here(self, key: str, below: bool) -> int:  # noqa: FBT001
        self._connection.forget_moves(key, below=below)
        return self._cache.invalidate(key, below=below)

    def _unless_invalidated(self, target: Target | Resource) -> Callable[[], bool]:
        """Return a function that checks that the target was not invalidated after this call."""
        since = self._cache.generation
        return lambda: self._cache.invalidated(target.key) <= since

    async def _fetch_many(
        self, to_fetch: list[Target], wait: float, api: Api, looked_at: Mapping[str, int]
    ) -> dict[Target, Snapshot | errors.GithubError]:
        by_query = api == "graphql" or (
            api == "auto" and self.has_token and len(to_fetch) > _MOST_BY_REST
        )
        paths = {target: self._cache.path(target.key) for target in to_fetch}
        claims = Claims(self._shared, self._credential_key, paths, looked_at)
        works: dict[Target, _Work] = {
            target: partial(self._fetch_claimed, target, claims, by_query=by_query, wait=wait)
            for target in to_fetch
        }
        refreshed = await asyncio.gather(
            *(
                self._refresh(target, work, wait, by_query=by_query and has_query(target))
                for target, work in works.items()
            )
        )
        return dict(zip(to_fetch, refreshed, strict=True))

    async def _fetch_claimed(
        self, target: Target, claims: Claims, *, by_query: bool, wait: float
    ) -> Entry:
        """Fetch a target, unless another sidecar has just done so."""
        since = self._cache.generation
        claim = await claims.of(target)
        if claim.fetched is not None:
            self._cache.put(claim.credential, claim.path, claim.fetched, since)
            return claim.fetched
        try:
            if by_query and claim.group is not None:
                return await self._fetch_by_query(target, claim.group, since, claim, wait)
            return await self._fetch(target, claim)
        finally:
            if self._shared is not None:
                self._shared.release(claim.credential, claim.path)

    def _put(
        self, credential_key: str, target: Target | Resource, entry: Entry, since: int, claim: Claim
    ) -> None:
        """Store an answer in memory and in Redis, unless it was invalidated meanwhile."""
        self._cache.put(credential_key, target.key, entry, since)
        found = claim.found
        if self._shared is not None and found is not None and found.since is not None:
            self._shared.put(credential_key, entry.path or target.key, entry, found.since)

    async def budgets(self, *, wait: float = 30.0) -> list[RateLimit]:
        """Return the rate limits of all resources; empty if GitHub has no limits.

        No request is sent if all of them are known and less than a minute old.

        Raises:
            GithubError: There is no usable answer.
        """
        fresh = self._connection.budgets.fresh()
        if fresh is not None:
            return fresh
        async with _within(wait, "the rate limit"):
            return await retrying(self._fetch_budgets, wait=wait, clock=self._clock)

    async def credentials(self, *, wait: float = 30.0) -> Credentials:
        """Return the source of the credential, and what GitHub reports about it.

        Raises:
            GithubError: There is no usable answer.
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

    async def _fetch_page(self, target: Resource) -> Reply:
        reply = await self._connection.get(target, self._unless_invalidated(target))
        if reply.status != httpx.codes.OK and reply.status not in responses.MISSING:
            raise responses.failure(reply, target, self._clock.now())
        return reply

    async def _fetch_budgets(self) -> list[RateLimit]:
        reply = await self._connection.rate_limit()
        if reply.status == httpx.codes.NOT_FOUND:
            return []
        if reply.status != httpx.codes.OK:
            raise responses.failure(reply, "rate limit", self._clock.now())
        budgets = budgets_in(responses.body(reply, "rate limit"))
        self._connection.budgets.note(budgets)
        return budgets

    async def _refresh(
        self, target: Target | Resource, work: _Work, wait: float, *, by_query: bool
    ) -> Snapshot | errors.GithubError:
        """Fetch a target once for all concurrent callers."""
        # A caller with a fallback does not wait for a limit to end. A query retries by itself, for
        # all of its targets.
        tries = TRIES if not by_query and self._fallback(target) is None else 1
        path = self._cache.path(target.key)
        # Callers after an invalidation must not share a request that began before it.
        flight = (self._credential_key, path, self._cache.invalidated(path))
        fetch = partial(self._flights.run, flight, work)
        try:
            async with _within(wait, f"`{target}`"):
                entry = await retrying(fetch, wait=wait, clock=self._clock, tries=tries)
                return _result(entry, target)
        except errors.GithubError as error:
            # Who waits for an answer that GitHub computes must not take an old one for it.
            replaceable = error.transient and not isinstance(error, errors.NotReady)
            known = self._fallback(target)
            if known is None or known.row is None or not replaceable:
                return error
        return Snapshot(_replaced(known.row, stale=True), known.identity)

    def _fallback(self, target: Target | Resource) -> Entry | None:
        """Return the cached entry to serve instead of a transient error, regardless of its age."""
        known = self._cache.get(self._credential_key, target.key)
        usable = self._settings.serve_stale and known is not None and known.missing is None
        return known if usable else None

    async def _fetch(self, target: Target | Resource, claim: Claim) -> Entry:
        since = self._cache.generation
        credential_key = self._credential_key
        known = self._cache.get(credential_key, target.key)
        etag = known.etag if known is not None else None
        reply = await self._connection.get(target, self._unless_invalidated(target), etag)
        confirmed = (
            reply.status == httpx.codes.NOT_MODIFIED and reply.credential_key == credential_key
        )
        if confirmed and known is not None and known.row is not None and etag is not None:
            entry = msgspec.structs.replace(
                known,
                row=_replaced(known.row, fetched_at=self._clock.now()),
                path=self._cache.path(target.key),
                checked_at=self._clock.monotonic(),
            )
        else:
            entry = self._entry(reply, target)
        self._put(reply.credential_key, target, entry, since, claim)
        return entry

    async def _fetch_by_query(
        self,
        target: Target,
        group: Group,
        since: int,
        claim: Claim,
        wait: float,
    ) -> Entry:
        work = partial(self._query, group.targets, wait)
        answers = await self._queries.run((self._credential_key, since, group), work)
        found, credential_key = answers[target].thing, answers[target].credential_key
        if found is None:
            return await self._fetch(target, claim)
        if isinstance(found, errors.NotFound):
            entry = self._missing_entry(errors.NotFound)
        elif isinstance(found, errors.RateLimited):
            raise used_up(f"`{target}`", found.reset_at, found.details.get("status")) from found
        elif isinstance(found, errors.GithubError):
            raise found
        else:
            entry = self._found_entry(found, target)
        self._put(credential_key, target, entry, since, claim)
        return entry

    async def _query(self, targets: tuple[Target, ...], wait: float) -> dict[Target, Found]:
        """Query all targets at once, and retry those that an error left without an answer."""
        found: dict[Target, Found] = {}
        try:
            await retrying(partial(self._ask, targets, found), wait=wait, clock=self._clock)
        except errors.GithubError as error:
            left = Found(error, self._credential_key)
            found |= {target: left for target in targets if target not in found}
        return found

    async def _ask(self, targets: tuple[Target, ...], found: dict[Target, Found]) -> None:
        """Query the targets that are not in `found` yet, and add the answers to it."""
        left = [target for target in targets if target not in found]
        async with self._query_gate:
            async for part in fetch_all(self._connection, left, self._clock.now()):
                found |= part

    def _entry(self, reply: Reply, target: Target | Resource) -> Entry:
        missing = responses.MISSING.get(reply.status)
        if missing is not None:
            return self._missing_entry(missing)
        if isinstance(target, Resource) and reply.status == httpx.codes.NO_CONTENT:
            return self._answer_entry(target, [{}])
        if reply.status != httpx.codes.OK:
            raise responses.failure(reply, target, self._clock.now())
        if isinstance(target, Resource):
            following = self._connection.next_page(target, reply)
            values = responses.values(reply, target)
            return self._answer_entry(target, values, following, reply.headers.get("etag"))
        json = responses.body(reply, target)
        return self._found_entry(
            json, target, reply.headers.get("etag"), is_elsewhere=reply.is_elsewhere
        )

    def _missing_entry(self, missing: type[errors.GithubError]) -> Entry:
        return Entry(
            row=None,
            missing=missing,
            etag=None,
            checked_at=self._clock.monotonic(),
            lifetime=self._settings.negative_ttl,
        )

    def _answer_entry(
        self,
        asked: Resource,
        values: list[dict[str, Any]],
        following: str | None = None,
        etag: str | None = None,
    ) -> Entry:
        found = RawAnswer(values=values, next=following, fetched_at=self._clock.now(), stale=False)
        with _unusable_answers(f"GitHub's answer for the {asked.what} cannot be a MAP"):
            row = EncodedRow.of(found)
        return Entry(row, missing=None, etag=etag, checked_at=self._clock.monotonic())

    def _found_entry(
        self,
        json: Mapping[str, Any],
        target: Target,
        etag: str | None = None,
        *,
        is_elsewhere: bool = True,
    ) -> Entry:
        with _unusable_answers(
            f"GitHub's answer for the {target.kind.value} `{target}` cannot be read"
        ):
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
            # A pull request has the same node id when it is returned as an issue.
            node=node and f"{target.kind.value} {node}",
            identity=read_identity(json),
        )


def _read(
    json: Mapping[str, Any], kind: Kind, fetched_at: datetime
) -> tuple[dict[str, Any], EncodedRow[Any]]:
    """Return the columns of an entity, and its encoded row."""
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
def _unusable_answers(what: str) -> Iterator[None]:
    """Raise UnusableAnswer if an answer cannot be read."""
    try:
        yield
    except ShapeError as error:
        raise errors.UnusableAnswer(f"{what}: {error}") from error
    except SidecypherError as error:
        raise errors.UnusableAnswer(f"{what}: {error.message}") from error


def _replaced(row: EncodedRow[Any], **columns: object) -> EncodedRow[Any]:
    return EncodedRow.of(msgspec.structs.replace(row.decode(), **columns))


def _lifetime(columns: Mapping[str, Any], target: Target) -> float:
    pending = (
        target.kind is Kind.PULL_REQUEST
        and columns["mergeable"] is None
        and columns["state"] == "open"
    )
    return _PENDING_SECONDS if pending else math.inf


def _result(entry: Entry, target: Target | Resource) -> Snapshot | errors.GithubError:
    if entry.row is None:
        return responses.absence(entry.missing or errors.NotFound, target)
    return Snapshot(entry.row, entry.identity)
