"""What an event refers to: who made it, the call that it answers, messages, plans, issues."""

from collections.abc import Sequence
from operator import itemgetter
from typing import Final, LiteralString

from sidecypher import Context
from sidecypher_procedures.fields import shown_id
from sidecypher_procedures.runs.errors import UnknownReference
from sidecypher_procedures.runs.inputs import EventInput
from sidecypher_procedures.runs.locking import Lock

# Each gives the ids that it has found; an agent is always found.
_LINK: Final[dict[str, LiteralString]] = {
    "EXECUTED_BY": """
        UNWIND $links AS link
        MATCH (e:Event {id: link.from})
        MERGE (a:AIAgent {id: link.to})
        CREATE (e)-[:EXECUTED_BY]->(a)
        RETURN a.id AS id
    """,
    "RESPONDS_TO": """
        UNWIND $links AS link
        MATCH (e:Event {id: link.from}), (m:Message {id: link.to})
        CREATE (e)-[:RESPONDS_TO]->(m)
        RETURN m.id AS id
    """,
    "REFERENCES": """
        UNWIND $links AS link
        MATCH (e:Event {id: link.from}), (i:Issue {id: link.to})
        CREATE (e)-[:REFERENCES]->(i)
        RETURN i.id AS id
    """,
    "SUGGESTS_EDIT_TO": """
        UNWIND $links AS link
        MATCH (e:Event {id: link.from}), (p:Plan {id: link.to})
        CREATE (e)-[:SUGGESTS_EDIT_TO]->(p)
        RETURN p.id AS id
    """,
}
_TARGET: Final = {
    "RESPONDS_TO": "message",
    "REFERENCES": "issue",
    "SUGGESTS_EDIT_TO": "plan",
}
# The latest call of an id is the one that is answered: ids of calls repeat in long runs. A call of
# another run, which this one was forked from, is not this run's to change.
_ANSWER: Final = """
    UNWIND $answers AS answer
    MATCH (result:Event {id: answer.from})
    CALL (answer, result) {
        MATCH (call:ToolCall)
        WHERE call.runId = $runId AND call.toolCallId = answer.to AND call.seq < result.seq
        RETURN call ORDER BY call.runId DESC, call.toolCallId DESC, call.seq DESC LIMIT 1
    }
    CREATE (call)-[:HAS_RESULT]->(result), (result)-[:RESULT_OF]->(call)
    SET call.status = CASE WHEN result.isError THEN 'failed' ELSE 'completed' END
"""


def link(ctx: Context, held: Lock, events: Sequence[EventInput]) -> None:
    """Write what new events refer to.

    Raises:
        UnknownReference: Something that they refer to is not there.
    """
    for kind, statement in _LINK.items():
        links = [
            {"from": event.id, "to": target}
            for event in events
            for target in event.links.get(kind, ())
        ]
        if links:
            # In one order, so that no two writers of the same ones wait for each other.
            links.sort(key=itemgetter("to"))
            found = {record["id"] for record in ctx.run(statement, links=links)}
            _check(kind, [link["to"] for link in links], found)
    answers = [
        {"from": event.id, "to": event.tool_call_id}
        for event in events
        if event.type.storage == "toolCallResult" and event.tool_call_id
    ]
    if answers:
        ctx.run(_ANSWER, answers=answers, runId=held.run_id)


def _check(kind: str, wanted: Sequence[str], found: set[str]) -> None:
    missing = next((name for name in wanted if name not in found), None)
    if missing is not None:
        raise UnknownReference(
            f"There is no {_TARGET[kind]} `{shown_id(missing)}` that the event could refer to",
            hint="Write it first, or leave the reference out.",
        )
