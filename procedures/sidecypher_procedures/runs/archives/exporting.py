"""What the graph has of a run, as the lines of its archive."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from sidecypher import Context, SidecypherError
from sidecypher_procedures.fields import shown_id
from sidecypher_procedures.runs.archives.lines import (
    FORMAT,
    Head,
    Line,
    Node,
    Payload,
    Relationship,
    Tail,
    sealed,
    written,
)
from sidecypher_procedures.runs.errors import RunMustStay

KEYS: Final = {
    "WorkflowRun": "id",
    "Event": "id",
    "Payload": "sha256",
    "User": "id",
    "AIAgent": "id",
    "Issue": "id",
    "Repository": "id",
    "PullRequest": "id",
    "Commit": "sha",
    "GithubWebhookEvent": "id",
}
"""By what the nodes are found again that a run may hang on."""

_RUN: Final = """
    MATCH (r:WorkflowRun {id: $runId})
    RETURN labels(r) AS labels, properties(r) AS properties
"""
_PAYLOADS: Final = """
    MATCH (e:Event)-[:HAS_PAYLOAD]->(p:Payload)
    WHERE e.runId = $runId AND e.seq > 0
    WITH DISTINCT p
    RETURN p.sha256 AS sha256, p.content AS content ORDER BY sha256
"""
_EVENTS: Final = """
    MATCH (e:Event)
    WHERE e.runId = $runId AND e.seq > 0
    RETURN labels(e) AS labels, properties(e) AS properties ORDER BY e.runId, e.seq
"""
# Each relationship once: one between two events with the first, one with the run with the event.
_OF_EVENTS: Final = """
    MATCH (e:Event)
    WHERE e.runId = $runId AND e.seq > 0
    WITH e ORDER BY e.runId, e.seq
    RETURN ['Event', e.id] AS self, COLLECT {
        MATCH (e)-[l]-(o)
        WHERE startNode(l) = e OR NOT (o:Event AND o.runId = $runId AND o.seq > 0)
        RETURN {
            type: type(l), properties: properties(l), leaves: startNode(l) = e,
            labels: labels(o), keys: o {.id, .sha, .sha256}
        }
    } AS links
"""
_OF_RUN: Final = """
    MATCH (r:WorkflowRun {id: $runId})
    RETURN ['WorkflowRun', r.id] AS self, COLLECT {
        MATCH (r)-[l]-(o)
        WHERE NOT (o:Event AND o.runId = $runId AND o.seq > 0)
        RETURN {
            type: type(l), properties: properties(l), leaves: startNode(l) = r,
            labels: labels(o), keys: o {.id, .sha, .sha256}
        }
    } AS links
"""


def lines_of(ctx: Context, run_id: str) -> Iterator[Line]:
    """Give all that the graph has of a run, always in the same order.

    Raises:
        RunMustStay: It hangs on a node that could not be found again.
    """
    return sealed(_lines(ctx, run_id))


def digest_of(ctx: Context, run_id: str) -> str:
    """Return the digest that an archive of a run would have."""
    return next(line.digest for line in lines_of(ctx, run_id) if isinstance(line, Tail))


def _lines(ctx: Context, run_id: str) -> Iterator[Line]:
    run = ctx.run(_RUN, runId=run_id).single()
    yield _head(run_id, run["properties"].get("createdAt"))
    for record in ctx.run(_PAYLOADS, runId=run_id):
        yield Payload(sha256=record["sha256"], content=record["content"])
    # Whoever locks the run sets it: it is nothing that the run says.
    run["properties"].pop("lock", None)
    yield _node(run)
    yield from map(_node, ctx.run(_EVENTS, runId=run_id))
    for statement in (_OF_RUN, _OF_EVENTS):
        for record in ctx.run(statement, runId=run_id):
            yield from _relationships(record["self"], record["links"])


def _head(run_id: str, created_at: Any) -> Head:
    head = Head(format=FORMAT, run_id=run_id, created_at=created_at)
    try:
        written(head)
    except SidecypherError:
        raise RunMustStay(
            f"The `createdAt` of the run `{shown_id(run_id)}` is no ZONED DATETIME",
            hint="Set it by Cypher, or remove it.",
        ) from None
    return head


def _node(record: Mapping[str, Any]) -> Node:
    return Node(labels=sorted(record["labels"]), properties=_sorted(record["properties"]))


def _relationships(self: list[str], links: Iterable[Mapping[str, Any]]) -> Iterator[Relationship]:
    found = [_relationship(self, link) for link in links]
    yield from sorted(found, key=lambda each: (each.type, each.start, each.end, written(each)))


def _relationship(self: list[str], link: Mapping[str, Any]) -> Relationship:
    other = _end(self, link)
    start, end = (self, other) if link["leaves"] else (other, self)
    return Relationship(
        type=link["type"], start=start, end=end, properties=_sorted(link["properties"])
    )


def _end(self: list[str], link: Mapping[str, Any]) -> list[str]:
    label = next((label for label in KEYS if label in link["labels"]), None)
    key = None if label is None else link["keys"].get(KEYS[label])
    if label is None or not isinstance(key, str):
        raise RunMustStay(
            f"The {self[0]} `{shown_id(self[1])}` has a relationship `{shown_id(link['type'])}` "
            "with a node that an archive cannot name",
            hint=f"It can name {', '.join(KEYS)}, each by its key. Remove the relationship.",
        )
    return [label, key]


def _sorted(properties: Mapping[str, Any]) -> dict[str, Any]:
    return dict(sorted(properties.items()))
