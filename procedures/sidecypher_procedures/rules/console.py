"""The page of the console about the memory: recorded contradictions and their explanation."""

from operator import itemgetter
from typing import Final

from sidecypher import BoltClient, PanelBlock, PanelRequest, PanelTable, PanelText, panel

_MOST: Final = 100

# The index on `key` has all contradictions; another writer's without a key are not listed.
_LIST: Final = """
    MATCH (later:StyleRule)-[c:CONTRADICTS]->(earlier:StyleRule)
    USING INDEX c:CONTRADICTS(key)
    WHERE c.key IS NOT NULL
    WITH later, c, earlier ORDER BY c.createdAt DESC LIMIT $limit
    RETURN c.key AS key, later.text AS later, earlier.text AS earlier, c.reason AS reason,
        later.user AS user, c.createdAt AS createdAt
"""
_CELLS: Final = itemgetter("later", "earlier", "reason", "user", "createdAt")
_ONE: Final = """
    MATCH (later:StyleRule)-[c:CONTRADICTS {key: $key}]->(earlier:StyleRule)
    RETURN later.ruleId AS laterId, later.text AS later, earlier.ruleId AS earlierId,
        earlier.text AS earlier, c.reason AS reason, c.detector AS detector,
        c.detectorVersion AS version, c.createdAt AS createdAt
"""
_EXPLAIN: Final = "CALL rules.explain($id) YIELD step, text RETURN step, text"


@panel("contradictions", "Contradictions", refresh=30.0)
async def show_contradictions(request: PanelRequest) -> list[PanelBlock]:
    """Return the latest contradictions of all users, or one with the status of both rules."""
    client = request.resource(BoltClient)
    if request.id is None:
        found = await client.run(_LIST, limit=_MOST)
        return [
            PanelTable(
                title="Latest contradictions of rules",
                columns=["Later rule", "Earlier rule", "Reason", "User", "Recorded"],
                rows=[*map(_CELLS, found)],
                ids=[each["key"] for each in found],
                empty="No contradiction is recorded.",
            )
        ]
    pairs = await client.run(_ONE, key=request.id)
    if not pairs:
        return [PanelText(text="There is no contradiction of this key.", tone="bad")]
    [pair, *_] = pairs
    blocks: list[PanelBlock] = [
        PanelText(
            text=f"“{pair['later']}” contradicts “{pair['earlier']}”: {pair['reason']}. "
            f"Found by {pair['detector']} {pair['version']}."
        )
    ]
    for which in ("later", "earlier"):
        steps = await client.run(_EXPLAIN, id=pair[f"{which}Id"])
        blocks.append(
            PanelTable(
                title=f"Why the {which} rule holds or not: {pair[which]}",
                columns=["Step", "Explanation"],
                rows=[(each["step"], each["text"]) for each in steps],
            )
        )
    return blocks
