"""The lock of a scope, which every write of a rule takes first.

Neo4j reads what is committed: without the lock two writers could each miss the other's rule.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sidecypher import Context
from sidecypher_procedures.rules.model import Scope

# One SET for both: a second one that reads the node would make writers wait for each other.
_LOCK: Final = """
    MERGE (s:RuleScope {key: $key})
    ON CREATE SET s.user = $user, s.scope = $scope, s.scopeId = $scopeId
    WITH s, datetime.realtime() AS clock
    SET s.rev = coalesce(s.rev, 0) + 1,
        s.recordedAt = CASE
            WHEN s.recordedAt >= clock THEN s.recordedAt + duration({milliseconds: 1})
            ELSE clock
        END
    RETURN s.rev AS rev, datetime.transaction() AS now, s.recordedAt AS recordedAt
"""


@dataclass(frozen=True, slots=True)
class Lock:
    """A scope that this transaction has to itself until it ends.

    Attributes:
        scope: The scope.
        rev: How often it was locked; rules carry the one they were checked at.
        now: The time of the transaction, the default of what the world knows.
        recorded_at: The time at which the lock was had: later for whoever had to wait, also when
            the clock of the server is set back.
    """

    scope: Scope
    rev: int
    now: datetime
    recorded_at: datetime


def lock(ctx: Context, scope: Scope) -> Lock:
    """Lock a scope until the transaction ends."""
    found = ctx.run(
        _LOCK, key=scope.key, user=scope.user, scope=scope.kind, scopeId=scope.id
    ).single()
    return Lock(scope, found["rev"], found["now"], found["recordedAt"])


def lock_all(ctx: Context, scopes: Iterable[Scope]) -> dict[Scope, Lock]:
    """Lock several scopes, always in one order, so that no two writers wait for each other."""
    return {scope: lock(ctx, scope) for scope in sorted(set(scopes))}
