"""The procedures `runs.*`."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Final, Literal
from uuid import uuid4

from sidecypher import Context, Duration, procedure
from sidecypher_procedures.names import LONGEST_NAME, is_id
from sidecypher_procedures.runs import (
    archives,
    attachments,
    creation,
    event_log,
    integrity,
    listing,
    plans,
    rows,
    store,
)
from sidecypher_procedures.runs.console import show_runs  # noqa: F401 - offered here
from sidecypher_procedures.runs.conversation import calls_of, conversation_of, mark_call
from sidecypher_procedures.runs.errors import InvalidArgument
from sidecypher_procedures.runs.options import (
    AppendOptions,
    ArchivesOptions,
    CallsOptions,
    CommentInput,
    CommitName,
    ConversationOptions,
    DecisionOptions,
    EventInput,
    EventsOptions,
    FollowOptions,
    ForkOptions,
    HistoryOptions,
    ImplementOptions,
    ListOptions,
    NumberedName,
    PathOptions,
    PlanInput,
    RepositoryName,
    RetainOptions,
    RevisionInput,
    RunOptions,
    TreeOptions,
    UpdateOptions,
    UsageOptions,
)
from sidecypher_procedures.runs.settings import Configuration
from sidecypher_procedures.runs.timeline import page_of, path_to, shape_of, timeline_of

GITHUB_SECONDS: Final = 300.0
"""Timeout of procedures that may query GitHub, equal to that of `github.mergeIssue`."""


@procedure("runs.create", mode="WRITE", timeout=GITHUB_SECONDS)
def create(
    ctx: Context,
    type: str,  # noqa: A002 - the name that Cypher shows
    options: RunOptions = RunOptions(),
) -> rows.Created:
    """Create a run of a workflow, unless it exists."""
    run_id = options.id or str(uuid4())
    created = creation.create_run(ctx, run_id, creation.run_type(type), options)
    [found] = _states(ctx, [(run_id,)])
    return rows.Created(id=run_id, state=found.state if found else "pending", created=created)


@procedure("runs.update", mode="WRITE")
def update(ctx: Context, run_id: str, options: UpdateOptions = UpdateOptions()) -> rows.RunRow:
    """Replace the metadata or the result of a run."""
    creation.update_run(ctx, run_id, options)
    timeout = ctx.resource(Configuration).settings.timeout
    return rows.RunRow(run=store.read_run(ctx, run_id, timeout) or {})


@procedure("runs.attachIssue", mode="WRITE", timeout=GITHUB_SECONDS)
def attach_issue(ctx: Context, run_id: str, issue: str | NumberedName) -> rows.Attached:
    """Base a run on an issue and its repository, unless it is already."""
    return attachments.attach(ctx, run_id, attachments.ISSUE, issue)


@procedure("runs.attachRepository", mode="WRITE", timeout=GITHUB_SECONDS)
def attach_repository(ctx: Context, run_id: str, repository: str | RepositoryName) -> rows.Attached:
    """Base a run on a repository, unless it is already."""
    return attachments.attach(ctx, run_id, attachments.REPOSITORY, repository)


@procedure("runs.attachCommit", mode="WRITE", timeout=GITHUB_SECONDS)
def attach_commit(ctx: Context, run_id: str, commit: str | CommitName) -> rows.Attached:
    """Base a run on a commit, unless it is already."""
    return attachments.attach(ctx, run_id, attachments.COMMIT, commit)


@procedure("runs.attachPullRequest", mode="WRITE", timeout=GITHUB_SECONDS)
def attach_pull_request(
    ctx: Context, run_id: str, pull_request: str | NumberedName
) -> rows.Attached:
    """Record that a run generated a pull request, unless that is recorded already."""
    return attachments.attach(ctx, run_id, attachments.PULL_REQUEST, pull_request)


@procedure("runs.attachActor", mode="WRITE")
def attach_actor(ctx: Context, run_id: str, user_id: str) -> rows.Attached:
    """Record the user who began a run, unless the user is recorded already."""
    return attachments.attach(ctx, run_id, attachments.USER, user_id)


@procedure("runs.append", mode="WRITE")
def append(
    ctx: Context, run_id: str, event: EventInput, options: AppendOptions = AppendOptions()
) -> rows.AppendedRow:
    """Append an event to a run. A retry with the same id and content changes nothing."""
    [done] = event_log.append(ctx, run_id, [event.event], options.expected_seq)
    return _row(run_id, done)


@procedure("runs.appendMany", mode="WRITE")
def append_many(ctx: Context, run_id: str, events: list[EventInput]) -> Iterator[rows.AppendedRow]:
    """Append events to a run in order, all or none."""
    for done in event_log.append(ctx, run_id, [each.event for each in events]):
        yield _row(run_id, done)


@procedure("runs.deleteEvent", mode="WRITE")
def delete_event(ctx: Context, event_id: str) -> rows.Deleted:
    """Delete the content of an event. Its place, digests and effect on the run's state stay."""
    return integrity.delete_event(ctx, event_id)


@procedure("runs.get")
def get(ctx: Context, run_id: str) -> rows.RunRow | None:
    """Return all properties of a run, its metadata as a MAP; no row if it does not exist."""
    run = store.read_run(ctx, run_id, ctx.resource(Configuration).settings.timeout)
    return None if run is None else rows.RunRow(run=run)


def _states(ctx: Context, asked: list[tuple[Any, ...]]) -> list[rows.StateRow | None]:
    """Return the states of many runs with one statement."""
    ids = [run_id for (run_id,) in asked]
    found = store.states_of(ctx, ids, ctx.resource(Configuration).settings.timeout)
    return [found.get(run_id) for run_id in ids]


@procedure("runs.state", batch=_states)
def state(ctx: Context, run_id: str) -> rows.StateRow | None:
    """Return the state of a run. A run without recent events is `timedOut`."""
    return _states(ctx, [(run_id,)])[0]


@procedure("runs.usage")
def usage(
    ctx: Context, run_id: str, options: UsageOptions = UsageOptions()
) -> Iterator[rows.UsageRow]:
    """Sum the token counts and costs of a run, or of its models or agents."""
    yield from store.usage_of(ctx, run_id, options)


@procedure("runs.events")
def events(
    ctx: Context, run_id: str, options: EventsOptions = EventsOptions()
) -> Iterator[rows.EventRow]:
    """List the events of a run in order."""
    yield from store.events_of(ctx, run_id, options)


FOLLOW_SECONDS: Final = 60.0
"""Timeout of `runs.follow`, which waits for up to 30 seconds."""


@procedure("runs.follow", timeout=FOLLOW_SECONDS)
async def follow(
    ctx: Context, run_id: str, options: FollowOptions = FollowOptions()
) -> AsyncIterator[rows.EventRow]:
    """Wait for new events of a run and list them; no row if none is committed in time."""
    async for row in store.follow(ctx, run_id, options):
        yield row


@procedure("runs.verify")
def verify(ctx: Context, run_id: str) -> rows.Verified | None:
    """Verify that a run's history is as it was written."""
    return integrity.verify_run(ctx, run_id)


@procedure("runs.fork", mode="WRITE", timeout=GITHUB_SECONDS)
def fork(ctx: Context, run_id: str, seq: int, options: ForkOptions = ForkOptions()) -> rows.Forked:
    """Create a run that shares the events of another one up to a place."""
    return creation.fork_run(ctx, run_id, seq, options)


def _valid_user_id(user_id: str) -> str:
    """Return the id of a user; raise InvalidArgument if it is empty or too long."""
    if not is_id(user_id):
        raise InvalidArgument(
            f"The `userId` has {len(user_id)} characters",
            hint=f"Give 1 to {LONGEST_NAME}, not only space.",
        )
    return user_id


def _row(run_id: str, done: event_log.Appended) -> rows.AppendedRow:
    return rows.AppendedRow(
        id=done.known.id,
        seq=done.known.seq,
        run_id=run_id,
        type=done.event.type.storage,
        state=done.run_status.state,
        duplicate=done.duplicate,
        digest=done.known.digest,
    )


@procedure("runs.plan.create", mode="WRITE")
def create_plan(ctx: Context, run_id: str, plan: PlanInput) -> rows.PlanRow:
    """Append a plan to a run. A retry with the same id and content changes nothing."""
    return plans.create_version(ctx, run_id, plan)


@procedure("runs.plan.revise", mode="WRITE")
def revise_plan(ctx: Context, plan_id: str, user_id: str, revision: RevisionInput) -> rows.PlanRow:
    """Append a new version of a plan, edited by a user. The plan must be the latest version."""
    return plans.revise(ctx, plan_id, _valid_user_id(user_id), revision)


@procedure("runs.plan.review", mode="WRITE")
def review_plan(
    ctx: Context, plan_id: str, user_id: str, options: DecisionOptions = DecisionOptions()
) -> rows.PlanRow:
    """Record that a user reviews a plan, which then waits for a decision."""
    return plans.decide(ctx, "review", plan_id, _valid_user_id(user_id), options.message)


@procedure("runs.plan.approve", mode="WRITE")
def approve_plan(
    ctx: Context, plan_id: str, user_id: str, options: DecisionOptions = DecisionOptions()
) -> rows.PlanRow:
    """Record that a user approves a plan that waits for a decision."""
    return plans.decide(ctx, "approve", plan_id, _valid_user_id(user_id), options.message)


@procedure("runs.plan.reject", mode="WRITE")
def reject_plan(
    ctx: Context, plan_id: str, user_id: str, options: DecisionOptions = DecisionOptions()
) -> rows.PlanRow:
    """Record that a user rejects a plan that waits for a decision."""
    return plans.decide(ctx, "reject", plan_id, _valid_user_id(user_id), options.message)


@procedure("runs.plan.comment", mode="WRITE")
def comment_on_plan(
    ctx: Context, plan_id: str, user_id: str, comment: CommentInput
) -> rows.CommentRow:
    """Append a user's comment on a plan to the plan's run."""
    return plans.append_comment(ctx, plan_id, _valid_user_id(user_id), comment)


@procedure("runs.plan.implement", mode="WRITE")
def implement_plan(
    ctx: Context, plan_id: str, options: ImplementOptions = ImplementOptions()
) -> rows.PlanRow:
    """Record that an approved plan was implemented, and by which pull request."""
    return plans.implement(ctx, plan_id, options.pull_request_id)


@procedure("runs.plan.history")
def plan_history(
    ctx: Context, plan_id: str, options: HistoryOptions = HistoryOptions()
) -> Iterator[rows.ActionRow]:
    """List the actions of users on all versions of a plan, in order of time."""
    yield from plans.history_of(ctx, plan_id, options.page)


@procedure("runs.list")
def list_runs(ctx: Context, options: ListOptions = ListOptions()) -> Iterator[rows.ListedRun]:
    """List runs, newest first."""
    timeout = ctx.resource(Configuration).settings.timeout
    yield from listing.list_runs(ctx, options, timeout)


@procedure("runs.tree")
def tree(ctx: Context, run_id: str, options: TreeOptions = TreeOptions()) -> Iterator[rows.TreeRow]:
    """List the events of a run with their parents, children and lanes."""
    for node in page_of(shape_of(ctx, run_id), options):
        yield rows.TreeRow(
            id=node.event["id"],
            seq=node.event["seq"],
            type=node.event["type"],
            parent_ids=node.parent_ids,
            child_ids=node.child_ids,
            lane=node.lane,
        )


@procedure("runs.timeline")
def timeline(
    ctx: Context, run_id: str, options: PathOptions = PathOptions()
) -> Iterator[rows.TimelineRow]:
    """List the events of a run for a drawing: label, lane and time, without content."""
    yield from timeline_of(ctx, run_id, options)


@procedure("runs.path")
def path(
    ctx: Context, event_id: str, options: PathOptions = PathOptions()
) -> Iterator[rows.EventRow]:
    """List an event and all events before it, from the beginning of its run."""
    yield from path_to(ctx, event_id, options)


@procedure("runs.toolCalls")
def tool_calls(
    ctx: Context, tool_name: str, options: CallsOptions = CallsOptions()
) -> Iterator[rows.ToolCallRow]:
    """List the calls of a tool with their results, newest first."""
    yield from calls_of(ctx, tool_name, options)


@procedure("runs.markToolCall", mode="WRITE")
def mark_tool_call(
    ctx: Context, event_id: str, status: Literal["executing", "failed"]
) -> rows.MarkedCall:
    """Set the status of a call of a tool that has no result yet."""
    return mark_call(ctx, event_id, status)


@procedure("runs.conversation")
def conversation(
    ctx: Context, run_id: str, options: ConversationOptions = ConversationOptions()
) -> Iterator[rows.MessageRow]:
    """List the messages of a run in order."""
    yield from conversation_of(ctx, run_id, options)


ARCHIVE_SECONDS: Final = 3600.0
"""Timeout in seconds of procedures that read and write whole runs."""


@procedure("runs.archive", mode="WRITE", timeout=ARCHIVE_SECONDS)
def archive(ctx: Context, run_id: str) -> rows.Archived:
    """Move a run that has ended from the graph to a file."""
    return archives.archive_run(ctx, _folder(ctx), run_id)


@procedure("runs.restore", mode="WRITE", timeout=ARCHIVE_SECONDS)
def restore(ctx: Context, run_id: str) -> rows.Archived:
    """Restore an archived run to the graph."""
    return archives.restore_run(ctx, _folder(ctx), run_id)


@procedure("runs.archives")
def list_archives(
    ctx: Context, options: ArchivesOptions = ArchivesOptions()
) -> Iterator[rows.ArchivedRow]:
    """List the runs that were archived and not restored, by id."""
    yield from archives.archived_runs(ctx, _folder(ctx), options)


@procedure("runs.delete", mode="WRITE", timeout=ARCHIVE_SECONDS)
def delete(ctx: Context, run_id: str) -> rows.Removed:
    """Delete a run that has ended from the graph, for good, without an archive."""
    return archives.delete_run(ctx, run_id)


@procedure("runs.retain", mode="WRITE", timeout=ARCHIVE_SECONDS)
def retain(
    ctx: Context,
    type: str,  # noqa: A002 - the name that Cypher shows
    older_than: Duration,
    options: RetainOptions = RetainOptions(),
) -> Iterator[rows.Retained]:
    """Archive or delete old runs of a type. Unless `dryRun` is false, only list them."""
    yield from archives.retain_runs(ctx, _folder(ctx), type, older_than, options)


def _folder(ctx: Context) -> Path | None:
    return ctx.resource(Configuration).settings.archive_dir
