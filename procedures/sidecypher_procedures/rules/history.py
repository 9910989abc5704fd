"""What happened to a rule, in order."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sidecypher import Context
from sidecypher_procedures.fields import shown_id
from sidecypher_procedures.rules.errors import UnknownRule

_HISTORY: Final = """
    MATCH (r:StyleRule {ruleId: $ruleId})
    CALL (r) {
        MATCH (:User)-[p:PREFERS]->(r) WHERE p.recordedAt IS NOT NULL
        RETURN p.recordedAt AS at, 'asserted' AS kind, p.extractionId AS extractionId,
            p {.since, .expiresAt, .temporalMarker, .confidence, .confirmed, .strict} AS facts
        UNION ALL
        MATCH (e:Extraction)-[c:CONFIRMED]->(r)
        RETURN c.recordedAt AS at, 'confirmed' AS kind, e.extractionId AS extractionId,
            c {.at} AS facts
        UNION ALL
        MATCH (e:Extraction)-[c:RETRACTED]->(r)
        RETURN c.recordedAt AS at, 'retracted' AS kind, e.extractionId AS extractionId,
            c {.at} AS facts
        UNION ALL
        MATCH (r)-[c:CONTRADICTS]-(o:StyleRule)
        RETURN c.createdAt AS at, 'contradicted' AS kind, c.extractionId AS extractionId,
            c {.reason, .verdict, .detector, .detectorVersion, .layer, .strategy,
               otherId: o.ruleId} AS facts
    }
    RETURN at, kind, extractionId, facts
    ORDER BY at, kind, extractionId
"""
_KNOWN: Final = "MATCH (r:StyleRule {ruleId: $ruleId}) RETURN r.ruleId AS ruleId"


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a rule.

    Attributes:
        at: When it was recorded.
        kind: ``asserted``, ``confirmed``, ``retracted`` or ``contradicted``.
        extraction_id: Where it comes from.
        facts: What it said.
    """

    at: datetime
    kind: str
    extraction_id: str
    facts: dict[str, Any]


def history_of(ctx: Context, rule_id: str) -> Iterator[Event]:
    """Yield what happened to a rule, the earliest first.

    Raises:
        UnknownRule: No rule has this id.
    """
    events = ctx.run(_HISTORY, ruleId=rule_id)
    if not len(events) and not len(ctx.run(_KNOWN, ruleId=rule_id)):
        raise UnknownRule(f"There is no rule `{shown_id(rule_id)}`")
    for each in events:
        yield Event(each["at"], each["kind"], each["extractionId"], each["facts"])
