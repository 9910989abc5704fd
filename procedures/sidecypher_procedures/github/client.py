"""Entities from GitHub: cached, confirmed by ETag, one request for all who want the same."""

import asyncio
import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, Final

import httpx

from sidecypher_procedures.github import outcomes
from sidecypher_procedures.github.cache import Clock, EntityCache, Entry, SingleFlight
from sidecypher_procedures.github.connection import Connection, Reply
from sidecypher_procedures.github.entities import READERS, ShapeError
from sidecypher_procedures.github.errors import (
    GithubError,
    TimedOut,
    UnusableAnswer,
)
from sidecypher_procedures.github.names import Kind, Target
from sidecypher_procedures.github.settings import GithubSettings

# GitHub computes `mergeable` after it was first asked for, within seconds.
_PENDING_SECONDS: Final = 3.0
_ENTRY_OVERHEAD_BYTES: Final = 512


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An entity as GitHub last gave it.

    Attributes:
        fields: Its columns, read only: the cache shares them.
        fetched_at: When GitHub last gave or confirmed them.
        stale: Whether they are older than the caller accepts, because GitHub could not be asked.
    """

    fields: Mapping[str, Any]
    fetched_at: datetime
    stale: bool


class GithubClient:
    """Fetches repositories, issues and pull requests; one per sidecar, used from one event loop.

    Example:
        >>> client = GithubClient()  # doctest: +SKIP
        >>> target = Target(Kind.ISSUE, "octocat", "Hello-World", 7)  # doctest: +SKIP
        >>> issue = await client.get(target)  # doctest: +SKIP
        >>> issue.fields["title"]  # doctest: +SKIP
        'Found a bug'
    """

    def __init__(self, settings: GithubSettings | None = None, clock: Clock | None = None) -> None:
        self._settings = settings or GithubSettings.load()
        self._clock = clock or Clock()
        credential = self._settings.credential()
        # What one token may see must never be given to another.
        self._credential_key = credential.key
        self._connection = Connection(self._settings, credential, self._clock)
        self._cache = EntityCache(self._settings.cache_bytes)
        self._flights: SingleFlight[Entry] = SingleFlight()

    async def stop(self) -> None:
        """Close the connections to GitHub."""
        await self._connection.close()

    async def get(self, target: Target, *, max_age: float = 60.0, wait: float = 30.0) -> Snapshot:
        """Give the target, from memory if it is not older than `max_age`.

        Args:
            target: What to give.
            max_age: Accepted age in seconds; 0 always asks GitHub, with the ETag at hand.
            wait: Seconds to wait for GitHub.

        Raises:
            GithubError: GitHub gave no answer that can be used, and there is none to fall back on.
        """
        key = (self._credential_key, target.key)
        entry = self._cache.get(key)
        if entry is not None and entry.is_fresh(max_age, self._clock.monotonic()):
            return _snapshot(entry, target)
        try:
            return _snapshot(await self._refresh(key, target, wait), target)
        except GithubError as error:
            fallback = error.transient and self._settings.serve_stale
            if entry is None or entry.missing is not None or not fallback:
                raise
            return Snapshot(entry.fields, entry.fetched_at, stale=True)

    async def _refresh(self, key: Hashable, target: Target, wait: float) -> Entry:
        try:
            async with asyncio.timeout(wait):
                return await self._flights.run(key, partial(self._fetch, key, target))
        except TimeoutError as error:
            raise TimedOut(f"GitHub did not answer in time for `{target}`") from error

    async def _fetch(self, key: Hashable, target: Target) -> Entry:
        known = self._cache.get(key)
        etag = known.etag if known is not None else None
        reply = await self._connection.get(target, etag)
        if reply.status == httpx.codes.NOT_MODIFIED and known is not None and etag is not None:
            entry = replace(known, fetched_at=self._clock.now(), checked_at=self._clock.monotonic())
        else:
            entry = self._entry(reply, target)
        self._cache.put(key, entry)
        return entry

    def _entry(self, reply: Reply, target: Target) -> Entry:
        missing = outcomes.MISSING.get(reply.status)
        if missing is not None:
            return self._stamped(reply, missing=missing, lifetime=self._settings.negative_ttl)
        if reply.status != httpx.codes.OK:
            raise outcomes.failure(reply, target, self._clock.now())
        fields = _read(outcomes.body(reply, target), target)
        etag = reply.headers.get("etag")
        return self._stamped(reply, fields=fields, etag=etag, lifetime=_lifetime(fields, target))

    def _stamped(
        self,
        reply: Reply,
        *,
        lifetime: float,
        fields: Mapping[str, Any] | None = None,
        missing: type[GithubError] | None = None,
        etag: str | None = None,
    ) -> Entry:
        return Entry(
            fields=fields or {},
            missing=missing,
            etag=etag,
            fetched_at=self._clock.now(),
            checked_at=self._clock.monotonic(),
            lifetime=lifetime,
            size=len(reply.content) + _ENTRY_OVERHEAD_BYTES,
        )


def _read(json: Mapping[str, Any], target: Target) -> Mapping[str, Any]:
    try:
        return READERS[target.kind](json)
    except ShapeError as error:
        raise UnusableAnswer(
            f"GitHub's answer for the {target.kind.value} `{target}` is none: {error}"
        ) from error


def _lifetime(fields: Mapping[str, Any], target: Target) -> float:
    pending = (
        target.kind is Kind.PULL_REQUEST
        and fields["mergeable"] is None
        and fields["state"] == "open"
    )
    return _PENDING_SECONDS if pending else math.inf


def _snapshot(entry: Entry, target: Target) -> Snapshot:
    if entry.missing is not None:
        raise outcomes.absence(entry.missing, target)
    return Snapshot(entry.fields, entry.fetched_at, stale=False)
