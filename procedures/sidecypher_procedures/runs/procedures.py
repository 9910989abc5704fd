"""`runs.*` as Cypher sees it."""

from collections.abc import Iterator
from typing import Any, Final

from sidecypher import Context, procedure
from sidecypher_procedures.fields import Fields
from sidecypher_procedures.runs.appending import Appended
from sidecypher_procedures.runs.appending import append as append_events
from sidecypher_procedures.runs.attaching import attach
from sidecypher_procedures.runs.creating import RunInput, create_run
from sidecypher_procedures.runs.deleting import delete_event as erase_event
from sidecypher_procedures.runs.errors import InvalidOption, UnknownRun
from sidecypher_procedures.runs.forking import fork_run
from sidecypher_procedures.runs.inputs import EventInput
from sidecypher_procedures.runs.locking import unknown_run
from sidecypher_procedures.runs.reading import (
    NO_LIMIT,
    EventsOptions,
    events_of,
    run_named,
    states_of,
)
from sidecypher_procedures.runs.rows import (
    AppendedRow,
    Attached,
    Created,
    Deleted,
    EventRow,
    Forked,
    RunRow,
    StateRow,
    Verified,
)
from sidecypher_procedures.runs.settings import Configuration
from sidecypher_procedures.runs.targets import (
    COMMIT,
    ISSUE,
    PULL_REQUEST,
    REPOSITORY,
    USER,
    Target,
)
from sidecypher_procedures.runs.verifying import verify_run

NO_OPTIONS: Final[dict[str, Any]] = {}
GITHUB_SECONDS: Final = 300.0
"""How long what may ask GitHub may take: as long as `github.mergeIssue`."""


@procedure("runs.create", mode="WRITE", timeout=GITHUB_SECONDS)
def create(
    ctx: Context,
    type: str,  # noqa: A002 - the name that Cypher shows
    options: dict[str, Any] = NO_OPTIONS,
) -> Created:
    """Begin a run of a workflow, or find it."""
    run = RunInput.parse(type, options)
    created = create_run(ctx, run)
    return Created(id=run.id, state=_state(ctx, run.id).state, created=created)


@procedure("runs.attachIssue", mode="WRITE", timeout=GITHUB_SECONDS)
def attach_issue(ctx: Context, run_id: str, issue: Any) -> Attached:
    """Base a run on an issue and its repository, unless it is so already."""
    return attach(ctx, run_id, Target.required(ISSUE, "issue", issue))


@procedure("runs.attachRepository", mode="WRITE", timeout=GITHUB_SECONDS)
def attach_repository(ctx: Context, run_id: str, repository: Any) -> Attached:
    """Base a run on a repository, unless it is so already."""
    return attach(ctx, run_id, Target.required(REPOSITORY, "repository", repository))


@procedure("runs.attachCommit", mode="WRITE", timeout=GITHUB_SECONDS)
def attach_commit(ctx: Context, run_id: str, commit: Any) -> Attached:
    """Base a run on a commit, unless it is so already."""
    return attach(ctx, run_id, Target.required(COMMIT, "commit", commit))


@procedure("runs.attachPullRequest", mode="WRITE", timeout=GITHUB_SECONDS)
def attach_pull_request(ctx: Context, run_id: str, pull_request: Any) -> Attached:
    """Tell that a run has generated a pull request, unless that was told already."""
    return attach(ctx, run_id, Target.required(PULL_REQUEST, "pullRequest", pull_request))


@procedure("runs.attachActor", mode="WRITE")
def attach_actor(ctx: Context, run_id: str, user: str) -> Attached:
    """Tell who began a run, unless that was told already."""
    return attach(ctx, run_id, Target.required(USER, "user", user))


@procedure("runs.append", mode="WRITE")
def append(
    ctx: Context, run_id: str, event: dict[str, Any], options: dict[str, Any] = NO_OPTIONS
) -> AppendedRow:
    """Append an event to a run; given again with the same id and content, it changes nothing."""
    fields = Fields(options, "list of options", ("expectedSeq",), InvalidOption)
    expected = (
        fields.count("expectedSeq", 0, largest=NO_LIMIT, smallest=0)
        if "expectedSeq" in fields
        else None
    )
    [done] = append_events(ctx, run_id, [EventInput.parse(event)], expected)
    return _row(run_id, done)


@procedure("runs.appendMany", mode="WRITE")
def append_many(ctx: Context, run_id: str, events: list[dict[str, Any]]) -> Iterator[AppendedRow]:
    """Append events to a run in their order, all or none."""
    for done in append_events(ctx, run_id, [EventInput.parse(event) for event in events]):
        yield _row(run_id, done)


@procedure("runs.deleteEvent", mode="WRITE")
def delete_event(ctx: Context, event_id: str) -> Deleted:
    """Erase what an event says; its place, its digests and its effect on the run's state stay."""
    return erase_event(ctx, event_id)


@procedure("runs.get")
def get(ctx: Context, run_id: str) -> RunRow:
    """Tell all of a run, its metadata as a MAP."""
    return RunRow(run=run_named(ctx, run_id, ctx.resource(Configuration).settings.timeout))


def _states(ctx: Context, rows: list[tuple[Any, ...]]) -> list[StateRow | UnknownRun]:
    """Tell how many runs stand, by one statement."""
    ids = [run_id for (run_id,) in rows]
    found = states_of(ctx, ids, ctx.resource(Configuration).settings.timeout)
    return [found.get(run_id) or unknown_run(run_id) for run_id in ids]


@procedure("runs.state", batch=_states)
def state(ctx: Context, run_id: str) -> StateRow:
    """Tell how a run stands; one in which nothing has happened for long reads as `timedOut`."""
    return _state(ctx, run_id)


@procedure("runs.events")
def events(ctx: Context, run_id: str, options: dict[str, Any] = NO_OPTIONS) -> Iterator[EventRow]:
    """List the events of a run in their order."""
    yield from events_of(ctx, run_id, EventsOptions.parse(options))


@procedure("runs.verify")
def verify(ctx: Context, run_id: str) -> Verified:
    """Tell whether a run's history is as it was written."""
    return verify_run(ctx, run_id)


@procedure("runs.fork", mode="WRITE", timeout=GITHUB_SECONDS)
def fork(ctx: Context, run_id: str, seq: int, options: dict[str, Any] = NO_OPTIONS) -> Forked:
    """Begin a run that shares the events of another one up to a place."""
    return fork_run(ctx, run_id, seq, options)


def _state(ctx: Context, run_id: str) -> StateRow:
    timeout = ctx.resource(Configuration).settings.timeout
    found = states_of(ctx, [run_id], timeout)
    if run_id not in found:
        raise unknown_run(run_id)
    return found[run_id]


def _row(run_id: str, done: Appended) -> AppendedRow:
    return AppendedRow(
        id=done.known.id,
        seq=done.known.seq,
        run_id=run_id,
        type=done.event.type.storage,
        state=done.standing.state,
        duplicate=done.duplicate,
        digest=done.known.digest,
    )
