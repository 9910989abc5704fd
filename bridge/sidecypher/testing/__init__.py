"""Test procedures with no server, or the same tests on a real one.

`ProcedureEnvironment` runs procedures as the sidecar does; `ExpectedStatements` stands in for the
graph behind `ctx.run`; `replay` runs one recorded call again. pytest itself loads the plugin
`sidecypher.testing.pytest_plugin`; it has fixtures for all of it and for an embedded Neo4j.

Enters: what authors of procedures import in their tests. The project's own helpers are in `tests`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sidecypher.testing.environment import ProcedureEnvironment
    from sidecypher.testing.replaying import replay
    from sidecypher.testing.statements import ExpectedStatements, UnexpectedStatement

__all__ = ["ExpectedStatements", "ProcedureEnvironment", "UnexpectedStatement", "replay"]

if not TYPE_CHECKING:
    # Looked up when first asked for: every pytest of the environment imports this package.
    _MODULES = {
        "ExpectedStatements": "statements",
        "ProcedureEnvironment": "environment",
        "UnexpectedStatement": "statements",
        "replay": "replaying",
    }

    def __getattr__(name: str) -> Any:
        """Import what is asked for from its module."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
