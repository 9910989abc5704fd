"""The cache of answers in Redis, which all sidecars share."""

import asyncio
import hmac
import math
import secrets
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

import msgspec
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from redis import RedisError

from sidecypher import EncodedRow
from sidecypher_procedures.github.cache import Clock, Entry
from sidecypher_procedures.github.entities import Identity, User
from sidecypher_procedures.github.errors import GithubError, Gone, NotFound
from sidecypher_procedures.github.model import Kind
from sidecypher_procedures.github.rate_limits import Limit
from sidecypher_procedures.github.rows import ROWS, RateLimit
from sidecypher_procedures.github.settings import GithubSettings
from sidecypher_procedures.github.sharing import scripts
from sidecypher_procedures.github.sharing.pipe import (
    PAUSE_SECONDS,
    RedisAway,
    open_client,
    open_pipe,
)

PREFIX: Final = "github:1:"
"""Prefix of all keys, with the version of their form."""

KEEP_SECONDS: Final = 3600.0
"""Seconds for which an entry is kept after GitHub has confirmed it."""

LOCK_SECONDS: Final = 5.0
"""Seconds for which others wait for a sidecar that has died while it fetches an entry."""

_LONGEST_FETCH_SECONDS: Final = 30.0
_MOST_RENEWED: Final = 1000

MOST_BYTES: Final = 512 * 1024
"""The largest entry; a longer one is neither stored nor read."""

_TIME_DIGITS: Final = 16
_OVERHEAD_BYTES: Final = 400
_MOST_MARKS: Final = 65_536
_MOST_INVALIDATIONS: Final = 10_000
_TARGETS_PER_LOOK: Final = 100
_MARKS: Final = f"{PREFIX}invalidated"
_STREAM: Final = f"{PREFIX}invalidations"
_INDEX: Final = f"{PREFIX}index"
_SIZES: Final = f"{PREFIX}sizes"
_MISSING: Final[Mapping[str, type[GithubError]]] = {"not found": NotFound, "gone": Gone}
_KINDS: Final[Mapping[str, Kind]] = {
    "": Kind.REPOSITORY,
    "issues": Kind.ISSUE,
    "pulls": Kind.PULL_REQUEST,
}

EVERYTHING: Final = ""
"""The path above all others."""

_BLOCK_SECONDS: Final = 0.5
_REQUEST_MILLISECONDS: Final = 30_000
# Limits end within a day.
_LIMITS_MILLISECONDS: Final = 86_400_000

Generation = tuple[int, int]
"""Id of the latest invalidation, which Redis keeps growing even if its clock is set back."""

_NEVER: Final[Generation] = (0, 0)


@dataclass(frozen=True, slots=True)
class Found:
    """What is known of a path.

    Attributes:
        entry: The entry, fresh or not.
        at: When it was stored, in microseconds by the clock of Redis.
        now: The time by that clock; None if Redis did not answer.
        is_mine: Whether this sidecar may fetch it: no other one does.
        since: The latest invalidation at that time; None if Redis did not answer.
    """

    entry: Entry | None = None
    at: int = 0
    now: int | None = None
    is_mine: bool = True
    since: Generation | None = None


class _Stored(msgspec.Struct, array_like=True, frozen=True):
    path: str
    columns: int
    since: Generation
    row: bytes | None
    missing: str | None
    etag: str | None
    lifetime: float | None
    node: str | None
    identity: tuple[str | None, str | None, str | None] | None


_decode: Final = msgspec.msgpack.Decoder(_Stored).decode


class SharedCache:
    """Entries by credential and path in Redis. While Redis is away, it has none and keeps none.

    Attributes:
        hits: Number of entries that were found.
        misses: Number of paths without an entry.
    """

    def __init__(self, url: str, settings: GithubSettings, clock: Clock) -> None:
        self._open = partial(open_client, url)
        self._pipe = open_pipe(url)
        self._base_url = settings.base_url
        self._most = settings.shared_cache_bytes
        self._clock = clock
        self._token = secrets.token_hex(16)
        # Locks by the time until which they are renewed.
        self._locks: dict[str, float] = {}
        self._renewer: asyncio.Task[None] | None = None
        self._unsent: dict[tuple[str, bool], None] = {}
        self._seen: Generation | None = None
        self._looked = asyncio.Event()
        self._is_stopped = False
        self.hits = 0
        self.misses = 0

    @property
    def is_away(self) -> bool:
        """Whether Redis is not asked for now."""
        return self._pipe.is_away

    @property
    def failures(self) -> int:
        """Number of times that Redis did not answer."""
        return self._pipe.failures

    def metrics(self) -> Iterator[Metric]:
        """Yield its metrics; a thread other than that of the event loop may call this."""
        looked = CounterMetricFamily(
            "sidecypher_github_shared_looks",
            "Paths that were looked for in Redis",
            labels=["result"],
        )
        looked.add_metric(["hit"], self.hits)
        looked.add_metric(["miss"], self.misses)
        yield looked
        yield CounterMetricFamily(
            "sidecypher_github_shared_failures",
            "Times that Redis did not answer",
            value=self.failures,
        )
        yield GaugeMetricFamily(
            "sidecypher_github_shared_away",
            "1 since Redis has not answered",
            value=self._pipe.was_away,
        )

    async def stop(self) -> None:
        """Send what waits, and close the connection."""
        self._is_stopped = True
        self._looked.set()
        if self._renewer is not None:
            self._renewer.cancel()
        await self._pipe.stop()

    async def look(
        self, credential: str, paths: Sequence[str], *, lock: bool = False
    ) -> dict[str, Found]:
        """Return what is known of paths; with `lock`, other sidecars wait for those that are mine.

        If Redis does not answer, nothing is known and all are mine.
        """
        parts = [
            paths[start : start + _TARGETS_PER_LOOK]
            for start in range(0, len(paths), _TARGETS_PER_LOOK)
        ]
        scope = self._scope(credential)
        looks = [self._look(scope, part, lock=lock) for part in parts]
        found: dict[str, Found] = {}
        for part, each in zip(parts, await asyncio.gather(*looks), strict=True):
            found |= each or dict.fromkeys(part, Found())
        return found

    async def _look(
        self, scope: str, paths: Sequence[str], *, lock: bool
    ) -> dict[str, Found] | None:
        self._publish()
        keys = [key for path in paths for key in (_entry(scope, path), _lock(scope, path))]
        marks = [mark for path in paths for mark in _marks(path)]
        milliseconds = int(LOCK_SECONDS * 1000) if lock else 0
        arguments: list[str | bytes | int] = [self._token, milliseconds, MOST_BYTES, *marks]
        try:
            last, now, *answers = await self._eval(
                scripts.LOOK, [_MARKS, _STREAM, *keys], arguments
            )
        except RedisAway:
            return None
        since = _generation(last)
        if self._seen is None:
            # Invalidations after the first look are those that this sidecar has to follow.
            self._seen = since
            self._looked.set()
        found = {}
        for path, (value, holder, invalidated) in zip(paths, answers, strict=True):
            is_mine = holder is None or holder.decode("latin-1") == self._token
            at, entry = self._decode(path, value, now, max(map(_generation, invalidated)))
            found[path] = Found(entry, at, now, is_mine, since)
            if lock and is_mine:
                self._hold(_lock(scope, path))
        self.hits += sum(each.entry is not None for each in found.values())
        self.misses += sum(each.entry is None for each in found.values())
        return found

    def put(self, credential: str, path: str, entry: Entry, since: Generation) -> None:
        """Store an entry, which was asked for after the invalidation `since`."""
        # An entry that is not fresh any more still has its ETag; that there is none has not.
        lifetime = KEEP_SECONDS if entry.row is not None else min(KEEP_SECONDS, entry.lifetime)
        kept = int(lifetime * 1000)
        if kept <= 0:
            return
        value = msgspec.msgpack.encode(_stored(path, entry, since))
        if len(value) > MOST_BYTES - _TIME_DIGITS:
            return
        keys = [_entry(self._scope(credential), path), _INDEX, _SIZES]
        self._send(scripts.PUT, keys, [value, kept, self._most, _OVERHEAD_BYTES])

    def release(self, credential: str, path: str) -> None:
        """Let other sidecars fetch a path."""
        lock = _lock(self._scope(credential), path)
        if self._locks.pop(lock, None) is not None:
            self._send(scripts.RELEASE, [lock], [self._token])

    def _hold(self, lock: str) -> None:
        loop = asyncio.get_running_loop()
        self._locks[lock] = loop.time() + _LONGEST_FETCH_SECONDS
        if self._renewer is None or self._renewer.done():
            self._renewer = loop.create_task(self._renew())

    async def _renew(self) -> None:
        """Renew the locks, since a fetch may wait for others before it."""
        while self._locks and not self._is_stopped:
            await asyncio.sleep(LOCK_SECONDS / 3)
            now = asyncio.get_running_loop().time()
            self._locks = {lock: ends for lock, ends in self._locks.items() if now < ends}
            locks = list(self._locks)
            for start in range(0, len(locks), _MOST_RENEWED):
                part = locks[start : start + _MOST_RENEWED]
                self._send(scripts.RENEW, part, [self._token, int(LOCK_SECONDS * 1000)])

    def invalidate(self, path: str, *, below: bool) -> None:
        """Make the entries of all credentials at a path void, and have all sidecars drop theirs.

        While Redis is away this is postponed.
        """
        self._postpone(path, below=below)
        self._publish()

    def _postpone(self, path: str, *, below: bool) -> None:
        if len(self._unsent) >= _MOST_INVALIDATIONS:
            self._unsent.clear()
            path, below = EVERYTHING, True
        self._unsent[path, below] = None

    def _publish(self) -> None:
        if self.is_away:
            return
        unsent, self._unsent = self._unsent, {}
        for path, below in unsent:
            limits = (_MOST_INVALIDATIONS, _MOST_MARKS)
            arguments: list[str | int] = [*limits, self._token, path, int(below)]
            keys = [_MARKS, _STREAM]
            sent = self._pipe.submit("EVAL", scripts.INVALIDATE, len(keys), *keys, *arguments)
            sent.add_done_callback(partial(self._published, path, below))

    def _published(self, path: str, below: bool, sent: asyncio.Future[Any]) -> None:  # noqa: FBT001
        if sent.cancelled() or sent.exception() is not None:
            self._postpone(path, below=below)

    async def follow(self, forget: Callable[[str, bool], object]) -> None:
        """Call `forget` with each path that another sidecar invalidates, until `stop`.

        After an interruption, invalidations may have been lost; then all is to be forgotten.

        Args:
            forget: Function of a path, and of whether all below it is meant.
        """
        await self._looked.wait()
        is_complete = True
        # A connection for it alone, since it waits for what comes.
        async with self._open(socket_timeout=2 * _BLOCK_SECONDS) as redis:
            while not self._is_stopped:
                try:
                    if not is_complete and not await self._has_all(redis):
                        forget(EVERYTHING, True)  # noqa: FBT003
                    is_complete = True
                    await self._read(redis, forget)
                except (RedisError, OSError, TimeoutError):
                    is_complete = False
                    await asyncio.sleep(PAUSE_SECONDS)

    async def _has_all(self, redis: Any) -> bool:
        first = await redis.xrange(_STREAM, count=1)
        if first and _generation(first[0][0]) <= (self._seen or _NEVER):
            return True
        last = await redis.xrevrange(_STREAM, count=1)
        before, self._seen = self._seen, _generation(last[0][0] if last else None)
        return before == self._seen

    async def _read(self, redis: Any, forget: Callable[[str, bool], object]) -> None:
        time, number = self._seen or _NEVER
        answers = await redis.xread(
            {_STREAM: f"{time}-{number}"}, count=1000, block=int(_BLOCK_SECONDS * 1000)
        )
        for id_, fields_ in answers[0][1] if answers else []:
            self._seen = _generation(id_)
            if fields_.get(b"by", b"").decode("latin-1") != self._token:
                path = fields_.get(b"path", b"").decode("utf-8", "replace")
                forget(path, fields_.get(b"below") != b"0")
        self._publish()

    async def reserve(self, credential: str, resource: str) -> tuple[str, datetime | None]:
        """Count a request that begins; return its id, or the end of the limit that stops it."""
        id_ = secrets.token_hex(8)
        try:
            lasts = await self._eval(
                scripts.RESERVE,
                self._limit_keys(credential, resource),
                [id_, resource, _REQUEST_MILLISECONDS],
            )
        except RedisAway:
            lasts = 0
        return id_, self._clock.now() + timedelta(milliseconds=int(lasts)) if lasts else None

    def settle(
        self,
        credential: str,
        resource: str,
        id_: str,
        *,
        budget: RateLimit | None = None,
        limit: Limit | None = None,
    ) -> None:
        """Count a request that has ended.

        Args:
            credential: Key of the credential that it was sent with.
            resource: The limited resource that it was for.
            id_: Its id from `reserve`.
            budget: What its answer told of the resource.
            limit: The limit that its answer is.
        """
        told: list[str | int] = ["", ""]
        if budget is not None and budget.resource == resource:
            told = [budget.remaining, _milliseconds(budget.reset_at)]
        stop: tuple[str, str | int] = ("", "")
        if limit is not None:
            lasts = limit.until - self._clock.now()
            stop = limit.resource or "", lasts // timedelta(milliseconds=1)
        arguments = [id_, resource, *told, *stop, _LIMITS_MILLISECONDS]
        self._send(scripts.SETTLE, self._limit_keys(credential, resource), arguments)

    def _limit_keys(self, credential: str, resource: str) -> list[str]:
        scope = self._scope(credential)
        return [f"{PREFIX}{scope}:limits", f"{PREFIX}{scope}:requests:{resource}"]

    def _scope(self, credential: str) -> str:
        """Return the name of a credential, which says nothing about it."""
        identity = f"{self._base_url}\0{credential}".encode()
        return hmac.digest(b"sidecypher github cache", identity, "sha256").hex()

    async def _eval(
        self, script: str, keys: Sequence[str], arguments: Sequence[str | bytes | int]
    ) -> Any:
        return await self._pipe.run("EVAL", script, len(keys), *keys, *arguments)

    def _send(
        self, script: str, keys: Sequence[str], arguments: Sequence[str | bytes | int]
    ) -> None:
        self._pipe.send("EVAL", script, len(keys), *keys, *arguments)

    def _decode(
        self, path: str, value: bytes, now: int, invalidated: Generation
    ) -> tuple[int, Entry | None]:
        """Return when an entry was stored, and the entry.

        It is None if it is void, or not what this version of sidecypher writes.
        """
        if not _TIME_DIGITS < len(value) <= MOST_BYTES:
            return 0, None
        try:
            at = int(value[:_TIME_DIGITS])
            stored = _decode(value[_TIME_DIGITS:])
            if stored.path != path or stored.since < invalidated:
                return 0, None
            age = max(0, now - at) / 1_000_000
            return at, _entry_of(stored, self._clock.monotonic() - age)
        # Anybody may write to Redis, and a row may have any content.
        except Exception:  # noqa: BLE001
            return 0, None


def _stored(path: str, entry: Entry, since: Generation) -> _Stored:
    identity = entry.identity
    missing = [name for name, error in _MISSING.items() if error is entry.missing]
    return _Stored(
        path=path,
        columns=_columns(path),
        since=since,
        row=None if entry.row is None else entry.row.json,
        missing=missing[0] if missing else None,
        etag=entry.etag,
        lifetime=None if entry.lifetime == math.inf else entry.lifetime,
        node=entry.node,
        identity=None if identity is None else _people(identity),
    )


def _people(identity: Identity) -> tuple[str | None, str | None, str | None]:
    user = identity.user
    if user is None:
        return None, None, identity.repository
    return user.id, user.login, identity.repository


def _entry_of(stored: _Stored, checked_at: float) -> Entry:
    if stored.columns != _columns(stored.path):
        raise ValueError("another version of sidecypher wrote it")
    row = None
    if stored.row is not None:
        # Checked as a row of this sidecar's own.
        row = EncodedRow.of(EncodedRow(ROWS[_kind(stored.path)], stored.row).decode())
    elif stored.missing is None:
        raise ValueError("it is neither a row nor the lack of one")
    identity = None
    if stored.identity is not None:
        id_, login, repository = stored.identity
        user = None if id_ is None or login is None else User(id_, login)
        identity = Identity(user, repository)
    return Entry(
        row=row,
        missing=None if row is not None else _MISSING[str(stored.missing)],
        etag=stored.etag,
        checked_at=checked_at,
        lifetime=math.inf if stored.lifetime is None else stored.lifetime,
        node=stored.node,
        identity=identity,
    )


def _kind(path: str) -> Kind:
    return _KINDS[path.split("/")[4] if path.count("/") > 3 else ""]  # noqa: PLR2004


def _columns(path: str) -> int:
    """Return a checksum of the columns, which differ between versions of sidecypher."""
    names = ",".join(ROWS[_kind(path)].__struct_fields__)
    return zlib.crc32(names.encode())


def _entry(scope: str, path: str) -> str:
    return f"{PREFIX}{scope}:entry:{path}"


def _lock(scope: str, path: str) -> str:
    return f"{PREFIX}{scope}:lock:{path}"


def _marks(path: str) -> tuple[str, str, str, str]:
    """Return the marks that make an entry void: its own, those above it, and that of all."""
    parts = path.split("/")
    return path, "/".join(parts[:4]) + "/", "/".join(parts[:5]) + "/", ""


def _milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def _generation(id_: bytes | None) -> Generation:
    time, _, number = (id_ or b"0-0").partition(b"-")
    return int(time), int(number)
