"""What a caller wants to know about."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from sidecypher_procedures.fields import Fields
from sidecypher_procedures.rules.errors import InvalidInput
from sidecypher_procedures.rules.retrieval.bounds import BOUNDS
from sidecypher_procedures.rules.selection import Reader

CONTEXT_KEYS: Final = (
    *("user", "sessionId", "projectId", "prompt", "artifactText", "chunkIds", "entityIds"),
)
LONGEST_TEXT: Final = 1_000_000
"""Characters that a prompt or an artifact may have; how much of it is read is another matter."""


@dataclass(frozen=True, slots=True)
class ContextRequest:
    """What a context is asked for.

    Attributes:
        user: The user's id.
        session_id: The session, or ``""``.
        project_id: The project, or ``""``.
        prompt: What the user has just said, or ``""``.
        artifact_text: What is being written, or ``""``.
        chunk_ids: Extractions and artifacts that a vector store proposes, the best first.
        entity_ids: Concepts that the caller knows to matter, the best first.

    Example:
        >>> ContextRequest.parse({"user": "ann", "prompt": "Go on"}).prompt
        'Go on'
    """

    user: str
    session_id: str = ""
    project_id: str = ""
    prompt: str = ""
    artifact_text: str = ""
    chunk_ids: tuple[str, ...] = ()
    entity_ids: tuple[str, ...] = ()

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> Self:
        """Check the MAP `input`.

        Raises:
            InvalidInput: It lacks `user`, or has a key or value that it cannot have.
        """
        fields = Fields(values, "context's input", CONTEXT_KEYS, InvalidInput)
        return cls(
            user=fields.required_text("user"),
            session_id=fields.text("sessionId"),
            project_id=fields.text("projectId"),
            prompt=fields.text("prompt", longest=LONGEST_TEXT),
            artifact_text=fields.text("artifactText", longest=LONGEST_TEXT),
            chunk_ids=tuple(dict.fromkeys(fields.texts("chunkIds", most=BOUNDS.ids))),
            entity_ids=tuple(dict.fromkeys(fields.texts("entityIds", most=BOUNDS.ids))),
        )

    @property
    def reader(self) -> Reader:
        """Who reads the rules."""
        return Reader(self.user, project_id=self.project_id, session_id=self.session_id)
