"""What was said in a run."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Self, get_args

from sidecypher import Context
from sidecypher_procedures.fields import Fields
from sidecypher_procedures.runs.errors import InvalidOption
from sidecypher_procedures.runs.inputs import decoded
from sidecypher_procedures.runs.reading import NO_LIMIT, found_in
from sidecypher_procedures.runs.views.rows import MessageRow

CONVERSATION_KEYS: Final = ("tools", "roles", "after", "limit")
Role = Literal["system", "user", "assistant", "tool_call", "tool_result"]
_TOOLS: Final = frozenset({"tool_call", "tool_result"})

_MESSAGES: Final = """
    MATCH (e:Event:Message)
    WHERE e.runId = $runId AND e.seq > $after AND e.seq <= $upTo
    AND e.role IN $roles AND e.deletedAt IS NULL
    WITH e ORDER BY e.runId, e.seq LIMIT $limit
    RETURN e {.seq, .role, .toolName, .metadata} AS message,
        coalesce(e.content, head([(e)-[:HAS_PAYLOAD]->(p) | p.content])) AS content
"""


@dataclass(frozen=True, slots=True)
class ConversationOptions:
    """Which messages of a run are wanted.

    Attributes:
        roles: Whose.
        after: Only those behind this place.
        limit: So many at most.
    """

    roles: tuple[str, ...]
    after: int
    limit: int

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> Self:
        """Check the MAP `options`.

        Raises:
            InvalidOption: One is unknown or has an unusable value.
        """
        fields = Fields(values, "list of options", CONVERSATION_KEYS, InvalidOption)
        return cls(
            roles=_read_roles(fields),
            after=fields.count("after", 0, largest=NO_LIMIT, smallest=0),
            limit=fields.count("limit", NO_LIMIT, largest=NO_LIMIT, smallest=0),
        )


def _read_roles(fields: Fields) -> tuple[str, ...]:
    roles: tuple[str, ...] = get_args(Role)
    if "roles" in fields:
        wanted = fields.texts("roles", most=len(roles))
        if not set(wanted) <= set(roles):
            raise fields.refuse("has unknown `roles`", f"Known: {', '.join(roles)}.")
        roles = tuple(wanted)
    if "tools" in fields and not fields.flag("tools"):
        roles = tuple(role for role in roles if role not in _TOOLS)
    return roles


def conversation_of(
    ctx: Context, run_id: str, options: ConversationOptions
) -> Iterator[MessageRow]:
    """Give the messages of a run in their order, without those that were deleted.

    Raises:
        UnknownRun: No run has this id.
    """
    found = found_in(
        ctx, run_id, _MESSAGES, options.after, options.limit, roles=list(options.roles)
    )
    for record in found:
        message = record["message"]
        yield MessageRow(
            seq=message["seq"],
            role=message["role"],
            content=record["content"],
            tool_name=message["toolName"],
            metadata=decoded(message["metadata"]),
        )
