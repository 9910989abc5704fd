"""Test procedures with no server, or the same tests on a real one.

`ProcedureEnvironment` runs procedures as the sidecar does; `ExpectedStatements` stands in for the
graph behind `ctx.run`; `replay` runs one recorded call again. The pytest plugin
(`sidecypher.pytest_plugin`, loaded by pytest itself) has fixtures for all of it and for an embedded
Neo4j.
"""

from sidecypher.testing.environment import ProcedureEnvironment
from sidecypher.testing.replaying import replay
from sidecypher.testing.statements import ExpectedStatements, UnexpectedStatement

__all__ = ["ExpectedStatements", "ProcedureEnvironment", "UnexpectedStatement", "replay"]
