"""What the graph has of plans, by plain Cypher."""


def named(session, plan_id):
    """Read the properties of a plan by plain Cypher."""
    return session.run("MATCH (p:Plan {id: $id}) RETURN properties(p) AS p", id=plan_id).single()[0]


def linked(session, plan_id):
    """Read what hangs on a plan, as texts such as `(m) GENERATED_PLAN`."""
    return sorted(
        session.run(
            """
            MATCH (p:Plan {id: $id})-[r]-(other)
            WHERE NOT type(r) IN ['PART_OF', 'NEXT', 'STARTS_WITH']
            RETURN CASE WHEN startNode(r) = p
                THEN type(r) + ' ' + other.id ELSE other.id + ' ' + type(r)
            END
            """,
            id=plan_id,
        ).value()
    )
