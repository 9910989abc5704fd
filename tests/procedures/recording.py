"""A stand-in for `rules.record` that gives nothing when there is no sidecar."""

from collections.abc import Iterator

from sidecypher import Context, Node, Row, procedure


class Recorded(Row):
    id: str


@procedure("test.record", mode="WRITE", availability="OPTIONAL")
def record(ctx: Context, nodes: list[Node]) -> Iterator[Recorded]:
    """Mark rules as checked."""
    statement = "UNWIND $nodes AS rule SET rule.checkedRev = 0 RETURN rule.ruleId AS ruleId"
    for found in ctx.run(statement, nodes=nodes):
        yield Recorded(id=found["ruleId"])
