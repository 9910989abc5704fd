"""A mixture of calls of all kinds, made inside of statements that count the right answers."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """A statement that makes `$n` calls and returns how many of them gave what they must.

    Attributes:
        weight: How many calls of this kind there are for one of the costliest kind.
    """

    name: str
    cypher: str
    weight: int = 10

    def check(self, session, calls):
        """Make calls; every one of them must be right."""
        found = session.run(self.cypher, n=calls).single(strict=True).value()
        assert found == calls, f"of {calls} calls of kind {self.name!r} {found} were right"


_ECHO = """
    UNWIND range(1, $n) AS i CALL {name}(toString(i)) YIELD value
    WITH * WHERE value = toString(i) RETURN count(*)
"""

KINDS = [
    Kind("procedure", _ECHO.format(name="test.echo")),
    Kind("async body", _ECHO.format(name="test.echoAsync")),
    Kind("worker process", _ECHO.format(name="test.echoProcess")),
    Kind(
        "function",
        "UNWIND range(1, $n) AS i WITH i WHERE fn.twice(i) = 2 * i RETURN count(*)",
    ),
    Kind(
        "entity",
        """
        CREATE (kept:Kept) WITH kept
        UNWIND range(1, $n) AS i CALL test.same(kept) YIELD value
        WITH kept, i, value WHERE value = kept
        WITH kept, count(*) AS found DELETE kept RETURN found
        """,
    ),
    Kind(
        "stream with LIMIT",
        """
        UNWIND range(1, $n) AS i
        CALL (i) { CALL test.count(100000 + i) YIELD value RETURN value LIMIT 20 }
        WITH i, collect(value) AS values WHERE values = range(0, 19) RETURN count(*)
        """,
    ),
    Kind(
        "stream of pages",
        """
        UNWIND range(1, $n) AS i CALL test.countAsync(300 + i) YIELD value
        WITH i, collect(value) AS values WHERE values = range(0, 299 + i) RETURN count(*)
        """,
        weight=1,
    ),
    Kind(
        "callback",
        """
        UNWIND range(1, $n) AS i
        CALL test.asked('UNWIND range(1, 3) AS n RETURN n * $i AS n', {i: i}) YIELD value
        WITH i, collect(value) AS values WHERE values = [i, 2 * i, 3 * i] RETURN count(*)
        """,
    ),
    Kind(
        "async callback",
        """
        UNWIND range(1, $n) AS i
        CALL test.runAsync('RETURN $i AS i', {i: i}) YIELD value
        WITH i, collect(value) AS values WHERE values = [{i: i}, {one: 1}] RETURN count(*)
        """,
    ),
    Kind(
        "callback of pages",
        """
        UNWIND range(1, $n) AS i
        CALL test.sumOf('UNWIND range(1, 1200) AS n RETURN n') YIELD rows, total
        WITH * WHERE rows = 1200 AND total = 720600 RETURN count(*)
        """,
        weight=1,
    ),
    Kind(
        "nested call",
        """
        UNWIND range(1, $n) AS i
        CALL test.run('CALL test.echo($i) YIELD value RETURN value', {i: toString(i)}) YIELD value
        WITH * WHERE value = {value: toString(i)} RETURN count(*)
        """,
    ),
    Kind(
        "writing call",
        """
        UNWIND range(1, $n) AS i CALL test.runWrite('CREATE (n:Passing) DELETE n') YIELD value
        WITH * WHERE value = 0 RETURN count(*)
        """,
    ),
    Kind(
        "batch",
        """
        UNWIND range(1, $n) AS i
        CALL test.divide.batch([[toFloat(i), 2.0], [1.0, 0.0]]) YIELD index, value, error
        WITH i, collect(value) AS values, collect(error.code) AS codes
        WHERE values = [i / 2.0] AND codes = ['test.zero'] RETURN count(*)
        """,
    ),
    Kind(
        "error",
        """
        UNWIND range(1, $n) AS i
        CALL (i) {
            CALL test.fail('author', toString(i)) YIELD value RETURN value
        } IN TRANSACTIONS OF 1 ROW ON ERROR CONTINUE REPORT STATUS AS status
        WITH status WHERE NOT status.committed AND status.errorMessage CONTAINS 'No index `people`'
        RETURN count(*)
        """,
    ),
]

_AT_ONCE = 2000
"""Calls in a statement: a transaction may take a minute."""


def make_calls(session, count):
    """Make about that many calls of all kinds; return how many there were."""
    made, share = 0, count / sum(kind.weight for kind in KINDS)
    for kind in KINDS:
        left = max(1, round(share * kind.weight))
        made += left
        while left:
            kind.check(session, min(left, _AT_ONCE))
            left -= min(left, _AT_ONCE)
    return made
