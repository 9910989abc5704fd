"""Writing the lines of an archive to the graph."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Final, LiteralString

from sidecypher import Context
from sidecypher_procedures.fields import shown_id
from sidecypher_procedures.runs.archives.lines import Line, Node, Payload, Relationship, written
from sidecypher_procedures.runs.errors import EventTaken, UnknownReference

_BATCH: Final = 1000
_BATCH_BYTES: Final = 4 * 1024 * 1024
"""Well below the longest message to Neo4j; one text has at most a quarter of it."""

_PAYLOADS: Final = """
    UNWIND $rows AS row
    MERGE (p:Payload {sha256: row.sha256}) SET p.content = row.content
"""
_TAKEN: Final = """
    MATCH (e:Event) WHERE e.id IN $ids
    RETURN e.id AS id ORDER BY id LIMIT 1
"""
_NODES: Final = """
    UNWIND $rows AS row
    CREATE (n) SET n = row.properties, n:$(row.labels)
"""
# Nodes by what finds them. Of some the key is all that this project ever writes to them, so they
# may be written anew.
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
}
_RELATE: Final = """
    CREATE (a)-[l:$(row.type)]->(b) SET l = row.properties
    RETURN count(*) AS written
"""


def write_lines(ctx: Context, lines: Iterable[Line]) -> None:
    """Write the texts, nodes and relationships of a run.

    Raises:
        EventTaken: The id of an event belongs to another one by now.
        UnknownReference: What the run refers to is not in the graph.
    """
    for kind, batch in _batches(lines):
        ctx.check()
        if kind is Payload:
            ctx.run(_PAYLOADS, rows=[{"sha256": p.sha256, "content": p.content} for p in batch])
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
            size += len(written(line))
            if len(batch) == _BATCH or size > _BATCH_BYTES:
                yield kind, batch
                batch, size = [], 0
        if batch:
            yield kind, batch


def _refuse_taken(ctx: Context, nodes: Sequence[Node]) -> None:
    ids = [node.properties["id"] for node in nodes if "Event" in node.labels]
    for record in ctx.run(_TAKEN, ids=ids):
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
    # Others may write it between the two statements.
    return UnknownReference(
        "What the archived run refers to was not all in the graph", hint="It is now: try again."
    )
