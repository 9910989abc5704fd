"""Which sidecar fetches what, so that each target is fetched by one of them."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sidecypher_procedures.github.cache import Clock, Entry
from sidecypher_procedures.github.graphql_documents import has_query
from sidecypher_procedures.github.model import Target
from sidecypher_procedures.github.settings import GithubSettings
from sidecypher_procedures.github.sharing.pipe import find_redis

if TYPE_CHECKING:
    from sidecypher_procedures.github.sharing.shared import Found, SharedCache

_POLL_SECONDS: Final = 0.03
_KEYS_PER_QUERY: Final = 100


def open_shared(settings: GithubSettings, clock: Clock) -> "SharedCache | None":
    """Return the cache in Redis; None if no Redis is named.

    Raises:
        SyncSettingsError: The address of Redis cannot be used.
    """
    url = find_redis() if settings.shared_cache_bytes else None
    if url is None:
        return None
    # Imported late: the library is that of an extra.
    from sidecypher_procedures.github.sharing.shared import SharedCache  # noqa: PLC0415

    return SharedCache(url, settings, clock)


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Targets that one GraphQL query asks for; each group is equal to itself only."""

    targets: tuple[Target, ...]


def groups(targets: Iterable[Target]) -> dict[Target, Group]:
    """Return the group of each target that GraphQL can be asked for.

    Example:
        >>> from sidecypher_procedures.github.model import Kind
        >>> issues = [Target(Kind.ISSUE, "o", "r", number) for number in range(1, 251)]
        >>> [len(found.targets) for found in dict.fromkeys(groups(issues).values())]
        [100, 100, 50]
    """
    queryable = [each for each in targets if has_query(each)]
    found: dict[Target, Group] = {}
    for start in range(0, len(queryable), _KEYS_PER_QUERY):
        group = Group(tuple(queryable[start : start + _KEYS_PER_QUERY]))
        found |= dict.fromkeys(group.targets, group)
    return found


@dataclass(frozen=True, slots=True)
class Claim:
    """The permission to fetch a target.

    Attributes:
        credential: Key of the credential that asks.
        path: The path that is locked.
        found: What was in Redis; None without a Redis.
        group: What can be fetched now by the same query; None if GraphQL cannot be asked for the
            target, or another sidecar has fetched it.
        fetched: What another sidecar has fetched meanwhile.
    """

    credential: str
    path: str
    found: "Found | None"
    group: Group | None
    fetched: Entry | None = None


class Claims:
    """The targets of a batch, each of which can be fetched once no other sidecar does.

    Args:
        shared: The cache in Redis; None without one.
        credential: Key of the credential that asks.
        paths: The current path of each target.
        looked_at: When each path was looked for, by the clock of Redis. What was stored later need
            not be fetched.
    """

    def __init__(
        self,
        shared: "SharedCache | None",
        credential: str,
        paths: Mapping[Target, str],
        looked_at: Mapping[str, int],
    ) -> None:
        self._shared = shared
        self._credential = credential
        self._paths = paths
        self._looked_at = looked_at
        self._claims: dict[Target, asyncio.Future[Claim]] = {}
        self._groups: dict[Target, Group] | None = None
        self._task: asyncio.Task[None] | None = None

    async def of(self, target: Target) -> Claim:
        """Return the claim of a target once it can be fetched or another sidecar has done so."""
        if self._shared is None:
            if self._groups is None:
                self._groups = groups(self._paths)
            path = self._paths[target]
            return Claim(self._credential, path, None, self._groups.get(target))
        if self._task is None:
            loop = asyncio.get_running_loop()
            self._claims = {each: loop.create_future() for each in self._paths}
            self._task = asyncio.create_task(self._settle(self._shared))
        return await self._claims[target]

    async def _settle(self, shared: "SharedCache") -> None:
        left = list(self._paths)
        try:
            while left:
                left = await self._look(shared, left)
                if left:
                    await asyncio.sleep(_POLL_SECONDS)
        except Exception as error:
            for target in left:
                if not self._claims[target].done():
                    self._claims[target].set_exception(error)
            raise

    async def _look(self, shared: "SharedCache", left: Iterable[Target]) -> list[Target]:
        """Settle what can be; return the targets that others fetch and somebody here waits for."""
        # A cancelled claim has no caller any more.
        wanted = [target for target in left if not self._claims[target].done()]
        paths = list(dict.fromkeys(self._paths[target] for target in wanted))
        looked = await shared.look(self._credential, paths, lock=True)
        found = {target: looked[self._paths[target]] for target in wanted}
        new = {target for target, each in found.items() if self._is_new(target, each)}
        mine = tuple(target for target in wanted if found[target].is_mine and target not in new)
        together = groups(mine)
        for target in [*new, *mine]:
            path = self._paths[target]
            if target in new or self._claims[target].done():
                shared.release(self._credential, path)
            if not self._claims[target].done():
                fetched = found[target].entry if target in new else None
                group = together.get(target)
                claim = Claim(self._credential, path, found[target], group, fetched)
                self._claims[target].set_result(claim)
        return [target for target in wanted if not self._claims[target].done()]

    def _is_new(self, target: Target, found: "Found") -> bool:
        at = self._looked_at.get(self._paths[target])
        return found.entry is not None and at is not None and found.at > at
