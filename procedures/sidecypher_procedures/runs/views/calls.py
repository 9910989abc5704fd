"""What tools were called with, and what they gave."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Self

from sidecypher import Context, EncodedRow, Row, SidecypherError
from sidecypher_procedures.fields import Fields
from sidecypher_procedures.runs.errors import InvalidOption
from sidecypher_procedures.runs.inputs import decoded
from sidecypher_procedures.runs.reading import extent_of
from sidecypher_procedures.runs.views.paging import PAGE_KEYS, Page
from sidecypher_procedures.runs.views.rows import ToolCallRow

CALLS_KEYS: Final = ("runId", "status", "after", *PAGE_KEYS)
_EARLIEST: Final = datetime.min.replace(tzinfo=UTC)

# One instant in two zones is two values, one less than the other: the index finds both, and what it
# finds is compared in one zone. These conditions are behind WITH, where no plan can begin at them.
_BETWEEN: Final = """
    c.toolName = $toolName AND c.id IS NOT NULL
    AND c.createdAt > $after - duration({nanoseconds: 1})
    AND c.createdAt < $before + duration({nanoseconds: 1})
"""
# A call that a fork shares may have been answered in the other run only: here it was not.
_IS_OF_RUN: Final = """($runId IS NULL OR any(
        each IN $parts WHERE e.runId = each.runId AND e.seq > each.after AND e.seq <= each.upTo
    ))"""
_WANTED: Final = f"""
    WITH c, datetime({{datetime: c.createdAt, timezone: 'Z'}}) AS at,
        CASE
            WHEN c.runId <> $runId AND EXISTS {{ (c)-[:HAS_RESULT]->() }}
            AND NOT EXISTS {{ MATCH (c)-[:HAS_RESULT]->(e:ToolResult) WHERE {_IS_OF_RUN} }}
            THEN 'initiated'
            ELSE coalesce(c.status, 'initiated')
        END AS status
    WHERE at > datetime({{datetime: $after, timezone: 'Z'}})
    AND (c.id < $beforeId OR at < datetime({{datetime: $before, timezone: 'Z'}}))
    AND ($status IS NULL OR status = $status)
    AND c.deletedAt IS NULL
"""
# A call may be answered more than once: the latest answer counts.
_TELL: Final = f"""
    RETURN c {{.id, .runId, .toolName, .createdAt}} AS call, status,
        coalesce(c.content, head([(c)-[:HAS_PAYLOAD]->(p) | p.content])) AS args,
        head(COLLECT {{
            MATCH (c)-[:HAS_RESULT]->(e:ToolResult)
            WHERE e.deletedAt IS NULL AND {_IS_OF_RUN}
            RETURN e {{
                .id, isError: coalesce(e.isError, false),
                content: coalesce(e.content, head([(e)-[:HAS_PAYLOAD]->(p) | p.content]))
            }} ORDER BY e.seq DESC LIMIT 1
        }}) AS result
"""
_ALL: Final = f"""
    MATCH (c:ToolCall) WHERE {_BETWEEN} {_WANTED}
    WITH c, status ORDER BY c.toolName DESC, c.createdAt DESC, c.id DESC LIMIT $limit
    {_TELL}
"""
_OF_RUN: Final = f"""
    UNWIND $parts AS part
    CALL (part) {{
        MATCH (c:ToolCall)
        WHERE c.runId = part.runId AND c.seq > part.after AND c.seq <= part.upTo AND {_BETWEEN}
        RETURN c
    }}
    {_WANTED}
    WITH c, status ORDER BY c.createdAt DESC, c.id DESC LIMIT $limit
    {_TELL}
"""


@dataclass(frozen=True, slots=True)
class CallsOptions:
    """Which calls are wanted.

    Attributes:
        run_id: Only those of this run.
        status: Only those of this status.
        after: Only those made after this time.
        page: Where in the list.
    """

    run_id: str | None
    status: str | None
    after: datetime
    page: Page

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> Self:
        """Check the MAP `options`.

        Raises:
            InvalidOption: One is unknown or has an unusable value.
        """
        fields = Fields(values, "list of options", CALLS_KEYS, InvalidOption)
        return cls(
            run_id=fields.identifier("runId"),
            status=fields.text("status") or None,
            after=fields.instant("after") or _EARLIEST,
            page=Page.read(fields),
        )


def calls_of(ctx: Context, tool_name: str, options: CallsOptions) -> Iterator[ToolCallRow]:
    """Give the calls of a tool, newest first, without those that were deleted.

    Raises:
        UnknownRun: No run has the id that is given.
    """
    run_id = options.run_id
    wanted = {
        "toolName": tool_name,
        "runId": run_id,
        "parts": [] if run_id is None else extent_of(ctx, run_id).parts,
        "status": options.status,
        "after": options.after,
        **options.page.parameters,
    }
    # Nobody holds the result, so that one page of it is in memory at a time.
    for record in ctx.run(_ALL if run_id is None else _OF_RUN, **wanted):
        yield _row(record)


def _row(record: Mapping[str, Any]) -> ToolCallRow:
    call, result = record["call"], record["result"] or {}
    return ToolCallRow(
        call_id=call["id"],
        run_id=call["runId"],
        tool_name=call["toolName"],
        args=_carried(decoded(record["args"])),
        status=record["status"],
        result_id=result.get("id"),
        content=result.get("content"),
        is_error=result.get("isError"),
        created_at=call["createdAt"],
    )


class _Arguments(Row):
    args: dict[str, Any] | None


def _carried(args: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return arguments unless they have what JSON has and Cypher has not, such as huge integers."""
    try:
        EncodedRow.of(_Arguments(args=args))
    except SidecypherError:
        return None
    return args
