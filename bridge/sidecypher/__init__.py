"""Write Neo4j procedures in Python: isolated, with a deadline, in the caller's transaction.

Example:
    >>> from sidecypher import Row, procedure
    >>> class Greeting(Row):
    ...     text: str
    >>> @procedure("demo.greet")
    ... def greet(name: str) -> Greeting:
    ...     return Greeting(text=f"Hello {name}")
"""

from sidecypher.bolt import BoltClient
from sidecypher.context import Context
from sidecypher.decorators import function, procedure
from sidecypher.encoded import EncodedRow
from sidecypher.errors import CypherError, Neo4jUnavailable, ProcedureError, SidecypherError
from sidecypher.results import Record, Result
from sidecypher.rows import Row
from sidecypher.types import (
    DateTime,
    Deadline,
    Description,
    Duration,
    LocalDateTime,
    LocalTime,
    Node,
    OpaqueTemporal,
    Path,
    Point,
    Relationship,
    Time,
)
from sidecypher.webhooks import WebhookAnswer, WebhookRequest, webhook

__all__ = [
    "BoltClient",
    "Context",
    "CypherError",
    "DateTime",
    "Deadline",
    "Description",
    "Duration",
    "EncodedRow",
    "LocalDateTime",
    "LocalTime",
    "Neo4jUnavailable",
    "Node",
    "OpaqueTemporal",
    "Path",
    "Point",
    "ProcedureError",
    "Record",
    "Relationship",
    "Result",
    "Row",
    "SidecypherError",
    "Time",
    "WebhookAnswer",
    "WebhookRequest",
    "function",
    "procedure",
    "webhook",
]
