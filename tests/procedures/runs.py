"""A stand-in for the procedure of the runs layer that a webhook calls."""

from typing import Any

from sidecypher import Context, ProcedureError, Row, procedure


class Run(Row):
    id: str
    state: str
    created: bool


@procedure("runs.create", mode="WRITE")
async def create(ctx: Context, type: str, options: dict[str, Any]) -> Run:  # noqa: A002
    """Begin a run that an event has triggered.

    One of the type `broken` is refused, one of the type `busy` until there is a node `Free`.
    """
    if type == "broken":
        raise ProcedureError("There is no such type of run", code="runs.no-such-type")
    if type == "busy" and not await ctx.run("MATCH (f:Free) RETURN f"):
        raise ProcedureError("All are busy", code="runs.busy", retryable=True)
    [found] = await ctx.run(
        """
        MATCH (w:GithubWebhookEvent {id: $id})
        CREATE (r:WorkflowRun {id: randomUUID(), type: $type})-[:TRIGGERED_BY]->(w)
        RETURN r.id AS id
        """,
        id=options["triggeredBy"],
        type=type,
    )
    return Run(id=found["id"], state="pending", created=True)
