"""The procedures that only read, as Cypher sees them."""

from collections.abc import Iterator
from typing import Any, Final

from sidecypher import Context, procedure
from sidecypher_procedures.fields import Fields
from sidecypher_procedures.runs.errors import InvalidOption
from sidecypher_procedures.runs.naming import Naming
from sidecypher_procedures.runs.rows import EventRow
from sidecypher_procedures.runs.settings import Configuration
from sidecypher_procedures.runs.views.calls import CallsOptions, calls_of
from sidecypher_procedures.runs.views.conversation import ConversationOptions, conversation_of
from sidecypher_procedures.runs.views.listing import ListOptions, runs_like
from sidecypher_procedures.runs.views.path import path_to
from sidecypher_procedures.runs.views.rows import (
    ListedRun,
    MessageRow,
    TimelineRow,
    ToolCallRow,
    TreeRow,
)
from sidecypher_procedures.runs.views.shape import shape_of
from sidecypher_procedures.runs.views.timeline import TimelineOptions, timeline_of

NO_OPTIONS: Final[dict[str, Any]] = {}
PATH_KEYS: Final = ("naming",)


@procedure("runs.list")
def list_runs(ctx: Context, options: dict[str, Any] = NO_OPTIONS) -> Iterator[ListedRun]:
    """List runs, newest first."""
    timeout = ctx.resource(Configuration).settings.timeout
    yield from runs_like(ctx, ListOptions.parse(options), timeout)


@procedure("runs.tree")
def tree(ctx: Context, run_id: str) -> Iterator[TreeRow]:
    """Tell which event of a run follows which, and the lanes of its branches."""
    for node in shape_of(ctx, run_id):
        yield TreeRow(
            id=node.event["id"],
            seq=node.event["seq"],
            type=node.event["type"],
            parent_ids=node.parent_ids,
            child_ids=node.child_ids,
            lane=node.lane,
        )


@procedure("runs.timeline")
def timeline(
    ctx: Context, run_id: str, options: dict[str, Any] = NO_OPTIONS
) -> Iterator[TimelineRow]:
    """Tell of the events of a run what a picture shows: label, lane, time; no content."""
    yield from timeline_of(ctx, run_id, TimelineOptions.parse(options))


@procedure("runs.path")
def path(ctx: Context, event_id: str, options: dict[str, Any] = NO_OPTIONS) -> Iterator[EventRow]:
    """List an event and all it comes after, from the beginning of its run."""
    fields = Fields(options, "list of options", PATH_KEYS, InvalidOption)
    yield from path_to(ctx, event_id, fields.choice("naming", Naming, "storage"))


@procedure("runs.toolCalls")
def tool_calls(
    ctx: Context, tool_name: str, options: dict[str, Any] = NO_OPTIONS
) -> Iterator[ToolCallRow]:
    """List the calls of a tool with their results, newest first."""
    yield from calls_of(ctx, tool_name, CallsOptions.parse(options))


@procedure("runs.conversation")
def conversation(
    ctx: Context, run_id: str, options: dict[str, Any] = NO_OPTIONS
) -> Iterator[MessageRow]:
    """List the messages of a run in their order."""
    yield from conversation_of(ctx, run_id, ConversationOptions.parse(options))
