"""The columns of the `rules` procedures, in order."""

from datetime import datetime
from typing import Annotated, Any

from sidecypher import Description, Row
from sidecypher_procedures.paging import Cursor

Status = Annotated[str, Description("active, contested, shadowed or inactive")]
Reason = Annotated[str, Description("the one reason for the status")]


class Added(Row):
    """A rule that was stated."""

    id: str
    status: Status
    reason: Reason
    contradicts: Annotated[list[str], Description("rules of its scope that it contradicts")]
    extraction_id: str
    created: Annotated[bool, Description("false when the rule was there already")]


class RuleStatus(Row):
    """A rule as it stands after a write."""

    id: str
    status: Status
    reason: Reason


class Checked(Row):
    """The verdict of the detector on a rule and another one."""

    rule_id: Annotated[str, Description("the other rule")]
    verdict: Annotated[str, Description("conflict, same, compatible or unknown")]
    layer: Annotated[str, Description("the layer of the detector that found it")]
    reason: Annotated[str, Description("why, with canonical values")]


class Active(Row):
    """A rule that a reader can see."""

    id: str
    text: str
    status: Status
    reason: Reason
    decided_by: Annotated[str | None, Description("id of the rule that decided, null without one")]
    explanation: Annotated[
        dict[str, Any],
        Description("strategy, flags, marker, scope, dates, and the latest 100 `extractionIds`"),
    ]


class Contextual(Row):
    """The context of a task."""

    graph_context: Annotated[
        dict[str, Any] | None,
        Description("entities, relations, styleRules, citations; null only without a sidecar"),
    ]


class Explained(Row):
    """A step of an explanation."""

    step: int
    text: str
    facts: dict[str, Any]


class Happened(Row):
    """An event of a rule."""

    created_at: datetime
    kind: Annotated[str, Description("asserted, confirmed, retracted or contradicted")]
    extraction_id: str | None
    facts: dict[str, Any]
    cursor: Cursor


class Contradicting(Row):
    """A recorded contradiction."""

    rule_id: Annotated[str, Description("the rule that was recorded later")]
    other_id: Annotated[str, Description("the rule that was recorded earlier")]
    reason: Annotated[str, Description("why, with canonical values")]
    detector: str
    detector_version: str
    created_at: datetime
    extraction_id: Annotated[str, Description("of the assertion by which it was found")]
    cursor: Cursor


class Recorded(Row):
    """A rule that was checked."""

    id: str
    contradicts: Annotated[list[str], Description("rules of its scope that it contradicts")]


class Rechecked(Row):
    """A rule that was checked by `rules.recheck`."""

    id: Annotated[str | None, Description("null when it has none and cannot be checked")]
    contradicts: Annotated[list[str], Description("rules of its scope that it contradicts")]
    problem: Annotated[str | None, Description("why it cannot be checked, null when it was")]


class Unknown(Row):
    """A rule that the detector cannot compare with another one."""

    other_id: Annotated[str, Description("the other rule")]
    text: Annotated[str, Description("what the rule says")]
    other_text: Annotated[str, Description("what the other rule says")]
    rev: Annotated[int, Description("the scope's revision, for `rules.suspect`")]


class Found(Row):
    """A rule, a concept or an extraction with words of a query."""

    kind: Annotated[str, Description("rule, concept or extraction")]
    id: Annotated[str, Description("its id, or the key of a concept")]
    text: Annotated[str, Description("the text, the name or the snippet")]
    score: Annotated[
        float, Description("by rank in the index of its kind; only comparable within one call")
    ]


class Related(Row):
    """A fact: a relation between two concepts."""

    fact_id: Annotated[str, Description("also the option `cursor` that goes on behind this row")]
    source: Annotated[str, Description("the name of the concept that it is about")]
    type: Annotated[str, Description("such as `USES`")]
    target: Annotated[str, Description("the name of the other concept")]
    since: Annotated[datetime, Description("when it was first stated")]
    ended: Annotated[datetime | None, Description("when it ended, null if it holds")]
    extraction_id: Annotated[str, Description("which stated or ended it last")]


class Forgotten(Row):
    """A node that was deleted, or that stays and has lost something."""

    label: Annotated[
        str, Description("of a node that was deleted, or stays and has lost something")
    ]
    id: Annotated[str, Description("its id, or the key of a concept")]
    deleted: Annotated[bool, Description("whether it was deleted")]
    reason: Annotated[str | None, Description("why it stays, null when it was deleted")]


class Remembered(Row):
    """The nodes written for one extraction."""

    extraction_id: str
    concepts: Annotated[list[str], Description("keys of the concepts")]
    facts: Annotated[list[str], Description("ids of the facts")]
    ended: Annotated[list[str], Description("ids of facts that hold no longer")]
    rules: Annotated[
        list[dict[str, Any]], Description("as `rules.add` yields them, in the order of the input")
    ]
    left_out: Annotated[
        list[dict[str, Any]], Description("what a text says and is not written: `{text, reason}`")
    ]
