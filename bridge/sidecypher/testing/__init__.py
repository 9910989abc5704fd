"""Test procedures with no server, or the same tests on a real one.

`ProcedureEnvironment` runs procedures as the sidecar does. `ExpectedStatements` mocks the graph
behind `ctx.run`. `replay` runs one recorded call again. pytest loads the plugin
`sidecypher.testing.pytest_plugin` itself; it has fixtures for these and for an embedded Neo4j.

Enters: what authors of procedures import in their tests. The project's own helpers are in `tests`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sidecypher.testing._replay import replay
    from sidecypher.testing.environment import ProcedureEnvironment
    from sidecypher.testing.statements import ExpectedStatements, UnexpectedStatement

__all__ = ["ExpectedStatements", "ProcedureEnvironment", "UnexpectedStatement", "replay"]

if not TYPE_CHECKING:
    # Imported at first use: every pytest of the environment imports this package.
    _MODULES = {
        "ExpectedStatements": "statements",
        "ProcedureEnvironment": "environment",
        "UnexpectedStatement": "statements",
        "replay": "_replay",
    }

    def __getattr__(name: str) -> Any:
        """Import a public name from its module."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
