"""Exporting, importing and removing the nodes and relationships of a run."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any, Final, LiteralString

from sidecypher import Context, SidecypherError
from sidecypher_procedures.names import shown_id
from sidecypher_procedures.runs.archive_format import (
    FORMAT,
    Head,
    Line,
    Node,
    Payload,
    Relationship,
    Tail,
    encode_line,
    with_tail,
)
from sidecypher_procedures.runs.errors import EventTaken, RunMustStay, UnknownReference
from sidecypher_procedures.runs.event_log import release
from sidecypher_procedures.runs.lock import lock
from sidecypher_procedures.runs.model import FINAL, State
from sidecypher_procedures.runs.store import AWAITED

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
    "SESSION": "id",
}
"""The key properties of the nodes that a run may have relationships with, by label."""

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
# Each relationship once: one between two events at its start, one of an event and the run at the
# event.
_TO_OTHERS: Final = "NOT (o:Event AND o.runId = $runId AND o.seq > 0)"
_RETURN_LINK: Final = """
    RETURN {
        type: type(l), properties: properties(l), leaves: startNode(l) = n,
        labels: labels(o), keys: o {.id, .sha, .sha256}
    }
"""
_OF_EVENTS: Final = f"""
    MATCH (n:Event)
    WHERE n.runId = $runId AND n.seq > 0
    WITH n ORDER BY n.runId, n.seq
    RETURN ['Event', n.id] AS self, COLLECT {{
        MATCH (n)-[l]-(o) WHERE startNode(l) = n OR {_TO_OTHERS} {_RETURN_LINK}
    }} AS links
"""
_OF_RUN: Final = f"""
    MATCH (n:WorkflowRun {{id: $runId}})
    RETURN ['WorkflowRun', n.id] AS self, COLLECT {{
        MATCH (n)-[l]-(o) WHERE {_TO_OTHERS} {_RETURN_LINK}
    }} AS links
"""


def lines_of(ctx: Context, run_id: str) -> Iterator[Line]:
    """Yield all lines of a run's archive from the graph, always in the same order.

    Raises:
        RunMustStay: It has a relationship with a node that an archive cannot identify.
    """
    return with_tail(_lines(ctx, run_id))


def digest_of(ctx: Context, run_id: str) -> str:
    """Return the digest of a run's archive without writing it."""
    return next(line.digest for line in lines_of(ctx, run_id) if isinstance(line, Tail))


def _lines(ctx: Context, run_id: str) -> Iterator[Line]:
    run = ctx.run(_RUN, runId=run_id).single()
    yield _head(run_id, run["properties"].get("createdAt"))
    for record in ctx.run(_PAYLOADS, runId=run_id):
        yield Payload(sha256=record["sha256"], content=record["content"])
    # Each lock of the run sets this property; it is not part of the run's data.
    run["properties"].pop("lock", None)
    yield _node(run)
    yield from map(_node, ctx.run(_EVENTS, runId=run_id))
    for statement in (_OF_RUN, _OF_EVENTS):
        for record in ctx.run(statement, runId=run_id):
            yield from _relationships(record["self"], record["links"])


def _head(run_id: str, created_at: Any) -> Head:
    head = Head(format=FORMAT, run_id=run_id, created_at=created_at)
    try:
        encode_line(head)
    except SidecypherError:
        raise RunMustStay(
            f"The `createdAt` of the run `{shown_id(run_id)}` is not a ZONED DATETIME",
            hint="Set it by Cypher, or remove it.",
        ) from None
    return head


def _node(record: Mapping[str, Any]) -> Node:
    return Node(labels=sorted(record["labels"]), properties=_sorted(record["properties"]))


def _relationships(self: list[str], links: Iterable[Mapping[str, Any]]) -> Iterator[Relationship]:
    found = [_relationship(self, link) for link in links]
    yield from sorted(found, key=lambda each: (each.type, each.start, each.end, encode_line(each)))


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


_BATCH: Final = 1000
_BATCH_BYTES: Final = 4 * 1024 * 1024
"""Well below Neo4j's message limit; one text has at most a quarter of it."""

_WRITE_PAYLOADS: Final = """
    UNWIND $rows AS row
    MERGE (p:Payload {sha256: row.sha256}) SET p.content = row.content
"""
_EXISTING_IDS: Final = """
    MATCH (e:Event) WHERE e.id IN $ids
    RETURN e.id AS id ORDER BY id LIMIT 1
"""
_NODES: Final = """
    UNWIND $rows AS row
    CREATE (n) SET n = row.properties, n:$(row.labels)
"""
# Statements that find the other node by its key. For some labels the key is all that sidecypher
# ever writes, so the node may be created again.
_FIND: Final[dict[str, LiteralString]] = {
    "WorkflowRun": "MATCH ({}:WorkflowRun {{id: {}}})",
    "Event": "MATCH ({}:Event {{id: {}}})",
    "Payload": "MATCH ({}:Payload {{sha256: {}}})",
    "User": "MERGE ({}:User {{id: {}}})",
    "AIAgent": "MERGE ({}:AIAgent {{id: {}}})",
    "Issue": "MATCH ({}:Issue {{id: {}}})",
    "Repository": "MATCH ({}:Repository {{id: {}}})",
    "PullRequest": "MATCH ({}:PullRequest {{id: {}}})",
    "Commit": "MERGE ({}:Commit {{sha: {}}})",
    "GithubWebhookEvent": "MATCH ({}:GithubWebhookEvent {{id: {}}})",
    "SESSION": "MATCH ({}:SESSION {{id: {}}})",
}
_RELATE: Final = """
    CREATE (a)-[l:$(row.type)]->(b) SET l = row.properties
    RETURN count(*) AS written
"""


def write_lines(ctx: Context, lines: Iterable[Line]) -> None:
    """Write the texts, nodes and relationships of a run to the graph.

    Raises:
        EventTaken: The id of an event belongs to another event now.
        UnknownReference: A node that the run refers to is not in the graph.
    """
    for kind, batch in _batches(lines):
        ctx.check()
        if kind is Payload:
            ctx.run(
                _WRITE_PAYLOADS,
                rows=[{"sha256": p.sha256, "content": p.content} for p in batch],
            )
        elif kind is Node:
            _refuse_taken(ctx, batch)
            rows = [{"labels": n.labels, "properties": n.properties} for n in batch]
            ctx.run(_NODES, rows=rows)
        elif kind is Relationship:
            _relate(ctx, batch)


def _batches(lines: Iterable[Line]) -> Iterator[tuple[type[Line], list[Any]]]:
    for kind, alike in groupby(lines, type):
        batch: list[Line] = []
        size = 0
        for line in alike:
            batch.append(line)
            size += len(encode_line(line))
            if len(batch) == _BATCH or size > _BATCH_BYTES:
                yield kind, batch
                batch, size = [], 0
        if batch:
            yield kind, batch


def _refuse_taken(ctx: Context, nodes: Sequence[Node]) -> None:
    ids = [node.properties["id"] for node in nodes if "Event" in node.labels]
    for record in ctx.run(_EXISTING_IDS, ids=ids):
        raise EventTaken(
            f"The id `{shown_id(record['id'])}` of an archived event belongs to another event now",
            hint="Archive or delete the run of that one first.",
        )


def _relate(ctx: Context, relationships: Sequence[Relationship]) -> None:
    groups: dict[tuple[str, str], list[Relationship]] = defaultdict(list)
    for each in relationships:
        groups[each.start[0], each.end[0]].append(each)
    for (start, end), group in groups.items():
        statement: LiteralString = (
            "UNWIND $rows AS row "
            + _FIND[start].format("a", "row.start")
            + " WITH * "
            + _FIND[end].format("b", "row.end")
            + _RELATE
        )
        rows = [
            {
                "type": each.type,
                "start": each.start[1],
                "end": each.end[1],
                "properties": each.properties,
            }
            for each in group
        ]
        if ctx.run(statement, rows=rows).single()["written"] != len(rows):
            raise _missing(ctx, group)


def _missing(ctx: Context, relationships: Sequence[Relationship]) -> UnknownReference:
    ends = (end for each in relationships for end in (each.start, each.end))
    for label, key in ends:
        if not len(ctx.run(_FIND[label].format("n", "$key") + " RETURN 1 AS n", key=key)):
            return UnknownReference(
                f"There is no {label} `{shown_id(key)}`, which the archived run refers to",
                hint="Write it first; a run that was archived, too, by `runs.restore`.",
            )
    # Another call may have written it between the two statements.
    return UnknownReference(
        "What the archived run refers to was not all in the graph", hint="It is now: try again."
    )


_BLOCKERS: Final = f"""
    MATCH (r:WorkflowRun {{id: $runId}})
    RETURN r.completedAt AS completedAt,
        EXISTS {{ (r)<-[:FORKED_FROM]-() }} AS forked, EXISTS {{ (r)<-[:CHILD_OF]-() }} AS parent,
        {AWAITED} AS awaited
"""
_PAYLOAD_KEYS: Final = """
    MATCH (e:Event)-[:HAS_PAYLOAD]->(p:Payload)
    WHERE e.runId = $runId AND e.seq > 0
    RETURN DISTINCT p.sha256 AS sha256
"""
# Relationships before nodes: if another call adds one in between, Neo4j refuses to delete the node.
_DELETE_RELATIONSHIPS: Final = """
    CALL () {
        MATCH (e:Event)-[l]-() WHERE e.runId = $runId AND e.seq > 0 RETURN l
        UNION
        MATCH (:WorkflowRun {id: $runId})-[l]-() RETURN l
    }
    DELETE l
    RETURN count(*) AS relationships
"""
_DELETE_NODES: Final = """
    CALL () {
        MATCH (e:Event) WHERE e.runId = $runId AND e.seq > 0 RETURN e AS n
        UNION
        MATCH (r:WorkflowRun {id: $runId}) RETURN r AS n
    }
    DELETE n
    RETURN count(*) AS nodes
"""


@dataclass(frozen=True, slots=True)
class EndedRun:
    """A run that may leave the graph, and when it ended."""

    state: State
    completed_at: datetime | None


def lock_ended(ctx: Context, run_id: str) -> EndedRun:
    """Lock a run that is to leave the graph.

    Raises:
        UnknownRun: No run has this id.
        RunMustStay: It has not ended, a plan of it awaits its review, a fork shares its events, or
            it has children.
    """
    state = lock(ctx, run_id).run_status.state
    found = ctx.run(_BLOCKERS, runId=run_id).single()
    shown = shown_id(run_id)
    if state not in FINAL:
        raise RunMustStay(f"The run `{shown}` has not ended", hint="End it by an event first.")
    if found["awaited"]:
        raise RunMustStay(f"A plan of the run `{shown}` awaits its review", hint="Review it first.")
    if found["forked"]:
        raise RunMustStay(
            f"Other runs are forks of the run `{shown}`", hint="Archive or delete them first."
        )
    if found["parent"]:
        raise RunMustStay(
            f"Other runs are children of the run `{shown}`",
            hint="Archive or delete them first: `runs.list` lists them by `parentRunId`.",
        )
    return EndedRun(state, found["completedAt"])


def remove(ctx: Context, run_id: str) -> tuple[int, int]:
    """Delete a locked run with its events; return the numbers of nodes and relationships."""
    payloads = [record["sha256"] for record in ctx.run(_PAYLOAD_KEYS, runId=run_id)]
    relationships = ctx.run(_DELETE_RELATIONSHIPS, runId=run_id).single()["relationships"]
    nodes = ctx.run(_DELETE_NODES, runId=run_id).single()["nodes"]
    release(ctx, payloads)
    return nodes, relationships
