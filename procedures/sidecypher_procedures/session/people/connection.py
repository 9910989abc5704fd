"""The Neo4j that the command `sidecypher session` uses."""

from pathlib import Path
from typing import Any, Final, LiteralString

from sidecypher import CypherError, split_code
from sidecypher.cli.packages import run_cypher
from sidecypher_procedures.session.errors import SessionError

_CODES: Final = "SC-9"
"""How the codes of `session` procedures begin."""


class Graph:
    """The Neo4j of a command.

    Args:
        home: The value of `--home`.
        config: The value of `--config`.
        database: The value of `--database`.
    """

    def __init__(self, home: Path | None, config: Path | None, database: str | None = None) -> None:
        self._home = home
        self._config = config
        self._database = database

    def run(self, cypher: LiteralString, /, **parameters: Any) -> list[dict[str, Any]]:
        """Run a statement and return its rows.

        Raises:
            SessionError: A `session` procedure raised it; it has the procedure's text and code.
            CypherError: The statement failed for another reason.
            Neo4jUnavailable: Neo4j does not answer.
        """
        try:
            return run_cypher(
                cypher,
                parameters,
                database=self._database,
                home=self._home,
                config=self._config,
            )
        except CypherError as error:
            code, text = split_code(error.message)
            if not code.startswith(_CODES):
                raise
            raise SessionError(text, code=code) from None
