"""Long texts, each kept once for all events that have it."""

from collections.abc import Iterable
from typing import Final

from sidecypher import Context

# A writer of the same text sets it, under the same lock: whoever is second sees what the first did.
# The node stays, since that writer may have found it already.
_RELEASE: Final = """
    UNWIND $payloads AS sha256
    MATCH (p:Payload {sha256: sha256})
    SET p.content = p.content
    WITH p WHERE NOT EXISTS { (p)<-[:HAS_PAYLOAD]-() }
    REMOVE p.content
"""


def release(ctx: Context, payloads: Iterable[str]) -> None:
    """Erase those of the texts that no event has any more.

    Args:
        ctx: The call.
        payloads: Their SHA-256.
    """
    names = sorted(set(payloads))
    if names:
        # In one order, so that no two writers of the same texts wait for each other.
        ctx.run(_RELEASE, payloads=names)
