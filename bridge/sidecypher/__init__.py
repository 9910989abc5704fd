"""Write Neo4j procedures in Python: isolated, with a deadline, in the caller's transaction.

Example:
    >>> from sidecypher import Row, procedure
    >>> class Greeting(Row):
    ...     text: str
    >>> @procedure("demo.greet")
    ... def greet(name: str) -> Greeting:
    ...     return Greeting(text=f"Hello {name}")
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    from sidecypher.webhooks import WebhookAnswer, WebhookContext, WebhookRequest, webhook

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
    "WebhookContext",
    "WebhookRequest",
    "function",
    "procedure",
    "webhook",
]

if not TYPE_CHECKING:
    # Looked up when first asked for: `sidecypher --help` needs none of them, and they take longer
    # to import than all that it shows.
    _MODULES = {
        **dict.fromkeys(
            ("WebhookAnswer", "WebhookContext", "WebhookRequest", "webhook"), "webhooks"
        ),
        **dict.fromkeys(("function", "procedure"), "decorators"),
        **dict.fromkeys(("Record", "Result"), "results"),
        **dict.fromkeys(
            ("CypherError", "Neo4jUnavailable", "ProcedureError", "SidecypherError"), "errors"
        ),
        "BoltClient": "bolt",
        "Context": "context",
        "EncodedRow": "encoded",
        "Row": "rows",
    }

    def __getattr__(name: str) -> Any:
        """Import what is asked for from its module."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{_MODULES.get(name, 'types')}"), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
