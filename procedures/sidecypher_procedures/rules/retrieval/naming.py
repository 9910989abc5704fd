"""Which concepts are there, and what they are called."""

from collections.abc import Iterable
from typing import Final

from sidecypher import Context
from sidecypher_procedures.rules.retrieval.bounds import Reach

_CONCEPTS: Final = """
    UNWIND $keys AS key
    MATCH (c:Concept {key: key})
    WHERE c.user = $user AND EXISTS {
        MATCH (e:Extraction)-[:ASSERTED|CREATED]->(c) WHERE $known IS NULL OR e.createdAt <= $known
    }
    RETURN c.key AS key, c.name AS name
"""


def names_of(ctx: Context, keys: Iterable[str], reach: Reach) -> dict[str, str]:
    """Return the names of those concepts that are the user's and still have an extraction."""
    wanted = list(dict.fromkeys(keys))
    if not wanted:
        return {}
    found = ctx.run(_CONCEPTS, keys=wanted, user=reach.user, known=reach.known)
    return {each["key"]: each["name"] for each in found}
