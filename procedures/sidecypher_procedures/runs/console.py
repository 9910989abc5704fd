"""The page of the console about runs: the latest ones, and the timeline of one."""

from datetime import datetime
from typing import Any, Final

from sidecypher import (
    BoltClient,
    PanelBlock,
    PanelPicture,
    PanelRequest,
    PanelTable,
    PanelText,
    panel,
)
from sidecypher_procedures.runs.drawing import draw_svg, read_timeline, span

_LIST: Final = """
    CALL runs.list({limit: 50}) YIELD id, type, state, createdAt, startedAt, completedAt, lastSeq
    RETURN id, type, state, createdAt, startedAt, completedAt, lastSeq
"""
_RUN: Final = "CALL runs.get($id) YIELD run RETURN run"
_TIMELINE: Final = """
    CALL runs.timeline($id)
    YIELD seq, id, label, lane, parentIds, parentLanes, createdAt, durationMs
    RETURN seq, id, label, lane, parentIds, parentLanes, createdAt, durationMs LIMIT 500
"""


@panel("runs", "Runs", thing="Run")
async def show_runs(request: PanelRequest) -> list[PanelBlock]:
    """Return the latest runs, or the timeline of one, as `sidecypher runs show` draws it."""
    client = request.resource(BoltClient)
    if request.id is None:
        found = await client.run(_LIST)
        return [
            PanelTable(
                title="Latest runs",
                columns=["Run", "Type", "State", "Created", "Took", "Events"],
                rows=[
                    (
                        each["id"],
                        each["type"],
                        each["state"],
                        each["createdAt"],
                        _took(each["startedAt"], each["completedAt"]),
                        each["lastSeq"],
                    )
                    for each in found
                ],
                ids=[each["id"] for each in found],
                empty="There is no run.",
            )
        ]
    run = await client.run(_RUN, id=request.id)
    if not run:
        return [PanelText(text="There is no run of this id.", tone="bad")]
    timeline = read_timeline(run[0]["run"], await client.run(_TIMELINE, id=request.id))
    return [PanelPicture(title=timeline.title, svg=draw_svg(timeline))]


def _took(start: Any, end: Any) -> str | None:
    if not isinstance(start, datetime) or not isinstance(end, datetime):
        return None
    return span(round((end - start).total_seconds() * 1000))
