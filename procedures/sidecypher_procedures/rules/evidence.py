"""Recording that two rules contradict each other, whoever has found it."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from sidecypher import Context
from sidecypher_procedures.rules.locking import Lock
from sidecypher_procedures.rules.model import Evidence, Rule, Strategy

_CONTRADICTS: Final = """
    UNWIND $found AS each
    MATCH (later:StyleRule {ruleId: each.later}), (earlier:StyleRule {ruleId: each.earlier})
    MERGE (later)-[c:CONTRADICTS {key: each.key}]-(earlier)
    ON CREATE SET c += each.evidence, c.createdAt = $recordedAt, c.strategy = $strategy
"""


@dataclass(frozen=True, slots=True)
class Found:
    """What was found about two rules of one scope.

    Attributes:
        rule: The rule that was looked at.
        other: The other one.
        detector: What found it.
        version: Which version of that.
        verdict: ``conflict``, or ``suspected`` by a model.
        layer: The layer of the detector.
        reason: Why, in words.
        score: How sure a model is, 0 to 1.
    """

    rule: Rule
    other: Rule
    detector: str
    version: str
    verdict: Evidence
    layer: str
    reason: str
    score: float | None = None

    @property
    def key(self) -> str:
        """What the unordered pair and the detector's version have in common with no others."""
        pair = sorted((self.rule.rule_id, self.other.rule_id))
        return json.dumps([self.detector, self.version, *pair], ensure_ascii=False)

    def edge(self) -> dict[str, Any]:
        """Return what is written: from the rule that was recorded later to the earlier one."""
        earlier, later = sorted(
            (self.rule, self.other), key=lambda each: (each.first_recorded, each.rule_id)
        )
        return {
            "later": later.rule_id,
            "earlier": earlier.rule_id,
            "key": self.key,
            "evidence": {
                "reason": self.reason,
                "extractionId": self.rule.latest_extraction,
                "detector": self.detector,
                "detectorVersion": self.version,
                "verdict": self.verdict,
                "layer": self.layer,
                "score": self.score,
            },
        }


def write(ctx: Context, found: Iterable[Found], held: Lock, strategy: Strategy) -> None:
    """Write one relationship per pair and version of a detector; twice changes nothing.

    Args:
        ctx: The call.
        found: What was found.
        held: The lock of the rules' scope.
        strategy: The strategy in force, for the record.
    """
    edges = [each.edge() for each in found]
    if edges:
        ctx.run(_CONTRADICTS, found=edges, recordedAt=held.recorded_at, strategy=strategy)
