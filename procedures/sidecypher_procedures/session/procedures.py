"""The procedures `session.*`."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any, Final

from sidecypher import BoltClient, Context, Neo4jUnavailable, SidecarContext, background, procedure
from sidecypher_procedures.names import LONGEST_NAME, is_id
from sidecypher_procedures.session import changes, definition, rows, views
from sidecypher_procedures.session.creation import create_session
from sidecypher_procedures.session.errors import InvalidWorkflow
from sidecypher_procedures.session.options import (
    AwaitingOptions,
    ForkOptions,
    InputOptions,
    ListOptions,
    RunOptions,
    StartOptions,
    WorkflowSpec,
)
from sidecypher_procedures.session.people.charts import CHART, read_chart
from sidecypher_procedures.session.people.console import show_sessions  # noqa: F401 - offered here
from sidecypher_procedures.session.people.drawing import draw_svg
from sidecypher_procedures.session.rounds import Limits
from sidecypher_procedures.session.service import EVERYWHERE, IN_CALL, INSIDE, Service, work
from sidecypher_procedures.session.validation import findings_of

RUN_SECONDS: Final = 300.0
"""Timeout of procedures that run steps, and the longest time that `session.waitFor` waits."""

_NO_STEPS: Final = Limits(EVERYWHERE, steps=0)
_POLL_SECONDS: Final = 0.1


@procedure("session.define", mode="WRITE")
async def define(ctx: Context, workflow: str, spec: WorkflowSpec) -> rows.Defined:
    """Define a workflow, as a new version; sessions that run stay on theirs."""
    if not is_id(workflow):
        raise InvalidWorkflow(
            f"The name of the workflow has {len(workflow)} characters",
            hint=f"Give 1 to {LONGEST_NAME}, not only space.",
        )
    functions = Service(ctx).functions.names
    version, findings = await definition.define(ctx, workflow, spec, functions)
    return rows.Defined(
        workflow=workflow,
        version=version,
        steps=len(spec.steps),
        findings=[
            {
                "severity": each.severity,
                "stepId": each.step_id,
                "where": each.where,
                "message": each.message,
            }
            for each in findings
        ],
    )


@procedure("session.validate")
async def validate(ctx: Context, workflow: str | None) -> AsyncIterator[rows.Found]:
    """List what is wrong with a workflow, or may be; null for the steps without a workflow."""
    found = await definition.read_workflow(ctx, workflow)
    for each in findings_of(found, Service(ctx).functions.names):
        yield rows.Found(
            severity=each.severity,
            step_id=each.step_id or None,
            where=each.where,
            message=each.message,
        )


@procedure("session.start", mode="WRITE", timeout=RUN_SECONDS)
async def start(
    ctx: Context, workflow: str | None, options: StartOptions = StartOptions()
) -> rows.Progressed:
    """Start a session of a workflow, unless it exists; null for the steps without a workflow."""
    service = Service(ctx)
    session_id, created = await create_session(ctx, workflow, options)
    limits = IN_CALL if created and options.run else _NO_STEPS
    return await _progressed(service, ctx, session_id, limits)


@procedure("session.step", mode="WRITE", timeout=RUN_SECONDS)
async def step(ctx: Context, session_id: str) -> rows.Progressed:
    """Run the next step of a session, if it can be run in this transaction."""
    return await _progressed(Service(ctx), ctx, session_id, Limits(EVERYWHERE, steps=1))


@procedure("session.run", mode="WRITE", timeout=RUN_SECONDS)
async def run(ctx: Context, session_id: str, options: RunOptions = RunOptions()) -> rows.Progressed:
    """Run a session until it waits or ends."""
    service, client = Service(ctx), ctx.resource(BoltClient)
    if await changes.is_committed(ctx, client, session_id):
        try:
            await service.drive(client, INSIDE, options.seconds).run(session_id)
        except* Neo4jUnavailable:
            # Such as a lock of the caller's transaction, which ends only after this call.
            ctx.log.info("session left to its caller")
    return await _progressed(service, ctx, session_id, IN_CALL)


@procedure("session.input", mode="WRITE", timeout=RUN_SECONDS)
async def give_input(
    ctx: Context, session_id: str, value: Any, options: InputOptions = InputOptions()
) -> rows.Answered:
    """Answer an open request of a session, which then goes on."""
    service = Service(ctx)
    progress = await service.engine.answer(ctx, session_id, value, options.request_id, IN_CALL)
    session = await service.engine.follow(ctx, progress, IN_CALL)
    service.shared.wake()
    return rows.Answered(session_id=session_id, status=session.status, accepted=True)


@procedure("session.get")
async def get(ctx: Context, session_id: str) -> rows.SessionRow | None:
    """Return a session with its outputs, errors and messages; no row if it does not exist."""
    found = await views.session_map(ctx, session_id)
    return None if found is None else rows.SessionRow(session=found)


@procedure("session.list")
async def list_sessions(
    ctx: Context, options: ListOptions = ListOptions()
) -> AsyncIterator[rows.Listed]:
    """List sessions, newest first."""
    for row in await views.list_sessions(ctx, options):
        yield row


@procedure("session.awaiting")
async def awaiting(
    ctx: Context, options: AwaitingOptions = AwaitingOptions()
) -> AsyncIterator[rows.Awaiting]:
    """List the open requests of all sessions, oldest first."""
    for row in await views.list_requests(ctx, options):
        yield row


@procedure("session.history")
async def history(ctx: Context, session_id: str) -> AsyncIterator[rows.Execution]:
    """List the executions of a session and their failures, in order."""
    for row in await views.list_executions(ctx, session_id):
        yield row


@procedure("session.cancel", mode="WRITE")
async def cancel(ctx: Context, session_id: str) -> rows.Cancelled:
    """Cancel a session, and those that it waits for."""
    session, is_cancelled = await changes.cancel(ctx, session_id)
    return rows.Cancelled(session_id=session_id, status=session.status, cancelled=is_cancelled)


@procedure("session.retry", mode="WRITE", timeout=RUN_SECONDS)
async def retry(ctx: Context, session_id: str) -> rows.Progressed:
    """Let a session that has failed go on from the steps that failed."""
    await changes.retry(ctx, session_id)
    return await _progressed(Service(ctx), ctx, session_id, IN_CALL)


@procedure("session.fork", mode="WRITE")
async def fork(ctx: Context, session_id: str, options: ForkOptions) -> rows.Forked:
    """Create a session that shares the outputs of another one before an execution of a step."""
    fork_id = await changes.fork(ctx, session_id, options)
    row = await _progressed(Service(ctx), ctx, fork_id, _NO_STEPS)
    return rows.Forked(
        session_id=fork_id, forked_from=session_id, status=row.status, pending=row.pending
    )


@procedure("session.resolve")
async def resolve(ctx: Context, session_id: str, text: str) -> rows.Resolved:
    """Return what a text with references becomes for a session."""
    value, missing = await Service(ctx).engine.resolve(ctx, session_id, text)
    return rows.Resolved(value=value, missing=missing)


@procedure("session.waitFor", timeout=RUN_SECONDS)
async def wait_for(ctx: Context, session_id: str, status: str, seconds: float) -> rows.Reached:
    """Wait until a session has a status, for a number of seconds."""
    ends = min(seconds, ctx.deadline.remaining() - 1.0)
    until = time.monotonic() + ends
    while True:
        now = await views.status_of(ctx, session_id)
        if now == status or time.monotonic() >= until:
            return rows.Reached(session_id=session_id, status=now, reached=now == status)
        await asyncio.sleep(_POLL_SECONDS)


@procedure("session.read")
async def read(
    ctx: Context,
    statement: str,
    parameters: dict[str, Any] = {},  # noqa: B006 - it is copied for each call
) -> AsyncIterator[rows.ReadRow]:
    """Run a statement that must only read, as a `cypher` step does."""
    # It has the rights of the caller, who could run it without this procedure, too.
    async for record in ctx.run(statement, **parameters):
        yield rows.ReadRow(row=dict(record))


@background("session.worker")
async def advance_sessions(context: SidecarContext) -> None:
    """Advance the sessions that are due."""
    await work(context)


async def _progressed(
    service: Service, ctx: Context, session_id: str, limits: Limits
) -> rows.Progressed:
    progress = await service.engine.advance(ctx, session_id, limits)
    session = progress.session
    if limits.steps is None:
        session = await service.engine.follow(ctx, progress, limits)
    pending = [each.step.id for each in session.pending if each.request is None]
    if pending:
        service.shared.wake()
    return rows.Progressed(session_id=session_id, status=session.status, pending=pending)


@procedure("session.picture")
async def picture(ctx: Context, session_id: str) -> rows.Picture | None:
    """Draw the workflow of a session as SVG; no row if the session does not exist."""
    record = next(iter(await ctx.run(CHART, id=session_id)), None)
    return None if record is None else rows.Picture(svg=draw_svg(read_chart(record)))
