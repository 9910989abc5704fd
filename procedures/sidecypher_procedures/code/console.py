"""The page of the console about repositories of code: the indexed ones, and the graph of one."""

from itertools import groupby, islice
from typing import Any, Final

from sidecypher import BoltClient, PanelBlock, PanelPicture, PanelRequest, PanelTable, panel

_MOST_OF_KIND: Final = 10
"""The most statistics of one kind, such as files with unresolved calls."""

_LIST: Final = """
    CALL code.list() YIELD repoId, status, indexedAt, entities
    RETURN repoId, status, indexedAt, entities
"""
_ONE: Final = """
    CALL code.map($id) YIELD svg
    RETURN svg AS picture, COLLECT {
        CALL code.stats($id) YIELD kind, key, count
        RETURN {kind: kind, key: key, count: count} ORDER BY kind, count DESC, key
    } AS statistics
"""


@panel("repositories", "Repositories", thing="Repository", refresh=60.0)
async def show_repositories(request: PanelRequest) -> list[PanelBlock]:
    """Return the indexed repositories, or the statistics and the map of one."""
    client = request.resource(BoltClient)
    if request.id is None:
        found = await client.run(_LIST)
        return [
            PanelTable(
                title="Indexed repositories",
                columns=["Repository", "Status", "Indexed", "Entities"],
                rows=[
                    (each["repoId"], each["status"], each["indexedAt"], each["entities"])
                    for each in found
                ],
                ids=[each["repoId"] for each in found],
                empty="No repository is indexed.",
            )
        ]
    [one] = await client.run(_ONE, id=request.id)
    return [
        PanelPicture(title="Communities", svg=one["picture"]),
        PanelTable(
            title="Statistics",
            columns=["Kind", "Of", "Count"],
            rows=[
                (each["kind"], each["key"], each["count"]) for each in _largest(one["statistics"])
            ],
        ),
    ]


def _largest(statistics: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the largest statistics of each kind."""
    kinds = groupby(statistics, key=lambda each: each["kind"])
    return [each for _, group in kinds for each in islice(group, _MOST_OF_KIND)]
