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
from typing import Any

# Imported when first used, since `sidecypher --help` needs none. Type checkers read `__init__.pyi`.
_NAMES = {
    "errors": tuple(
        "ArgumentError CallCancelled CallError ContextExpired CypherError DeadlineExceeded "
        "Neo4jUnavailable NoTransaction ProcedureError RowError SidecypherError SignatureError "
        "ValueTypeError split_code".split()
    ),
    "host.settings": ("neo4j_environment",),
    "protocol.deadline": ("Deadline",),
    "sdk.backgrounds": ("SidecarContext", "background"),
    "sdk.bolt": ("BoltClient", "BoltTransaction"),
    "sdk.caching": ("invalidate",),
    "sdk.checks": ("CannotCheck", "Check", "CheckContext", "Finding"),
    "sdk.context": ("Context",),
    "sdk.decorators": ("function", "procedure"),
    "sdk.encoded": ("EncodedRow",),
    "sdk.signature.columns": ("Columns",),
    "sdk.signature.fields": ("Options",),
    "sdk.panels": tuple(
        "PanelAnswer PanelBlock PanelMeter PanelPicture PanelQuestion PanelRequest PanelTable "
        "PanelText panel".split()
    ),
    "sdk.results": ("Record", "Result"),
    "sdk.steps": ("Step", "StepContext", "Steps", "step"),
    "sdk.webhooks": ("WebhookAnswer", "WebhookRequest", "webhook"),
    "values.annotations": ("Description", "LocalDateTime", "LocalTime"),
    "values.graph": ("Node", "Path", "Relationship"),
    "values.rows": ("Row",),
    "values.spatial": ("Point",),
    "values.temporal": ("DateTime", "Duration", "OpaqueTemporal", "Time"),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = sorted(_MODULES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    """Import what is asked for from its module."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    return globals().setdefault(name, value)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
