"""Concepts and facts of one user, written by Cypher as `rules.remember` writes them."""

import contextlib

from fix_waiting import wait_until

from sidecypher_procedures.rules.store import Concept, Fact

_REMEMBER = """
    CREATE (e:Extraction {extractionId: $id, method: 'rule', rawSnippet: $snippet})
    SET e.createdAt = coalesce($createdAt, datetime.transaction())
    FOREACH (_ IN CASE WHEN $sessionId IS NULL THEN [] ELSE [1] END |
        MERGE (s:Session {id: $sessionId}) CREATE (e)-[:EXTRACTED_FROM]->(s))
    FOREACH (_ IN CASE WHEN $artifactId IS NULL THEN [] ELSE [1] END |
        MERGE (a:Artifact {id: $artifactId}) CREATE (e)-[:EXTRACTED_FROM_ARTIFACT]->(a))
    FOREACH (each IN $concepts |
        MERGE (c:Concept {key: each.key}) ON CREATE SET c.user = $user, c.name = each.name
        CREATE (e)-[:ASSERTED]->(c))
    WITH e
    UNWIND $facts AS each
    MATCH (a:Concept {key: each.from}), (b:Concept {key: each.to})
    MERGE (f:Fact {factId: each.id})
    ON CREATE SET f.user = $user, f.type = each.type, f.fromKey = each.from, f.toKey = each.to
    MERGE (a)-[:RELATED_TO {factId: each.id, type: each.type}]->(b)
    CREATE (e)-[:ASSERTED]->(f)
"""


class Memory:
    """What is remembered of one user; each call has an extraction of its own."""

    def __init__(self, session, user):
        self.session = session
        self.user = user
        self.extractions = 0

    def concept(self, name, **source):
        """Write a concept; return its key."""
        concept = Concept(self.user, name)
        self._remember([concept], [], **source)
        return concept.key

    def facts(self, *triples, **source):
        """Write facts and their concepts; return the facts' ids."""
        facts = [
            Fact(Concept(self.user, one), kind, Concept(self.user, other))
            for one, kind, other in triples
        ]
        concepts = [end for fact in facts for end in (fact.source, fact.target)]
        self._remember(dict.fromkeys(concepts), facts, **source)
        return [fact.fact_id for fact in facts]

    @property
    def last_extraction(self):
        return f"{self.user}-e{self.extractions}"

    def _remember(
        self,
        concepts,
        facts,
        *,
        session_id=None,
        artifact_id=None,
        snippet="said so",
        created_at=None,
    ):
        self.extractions += 1
        self.session.run(
            _REMEMBER,
            id=self.last_extraction,
            user=self.user,
            snippet=snippet,
            createdAt=created_at,
            sessionId=session_id,
            artifactId=artifact_id,
            concepts=[{"key": each.key, "name": each.name} for each in concepts],
            facts=[
                {"id": f.fact_id, "type": f.type, "from": f.source.key, "to": f.target.key}
                for f in facts
            ],
        ).consume()

    def context(self, prompt="", options=None, **more):
        """Read a context."""
        given = {"userId": self.user, "prompt": prompt, **more}
        return context_of(self.session, given, options or {})


def context_of(session, given, options):
    """Call `rules.context`; return its only value."""
    [row] = session.run(
        "CALL rules.context($given, $options)", given=given, options=options
    ).values()
    return row[0]


def names_in(context):
    """Return the names of the entities, the best first."""
    return [each["name"] for each in context["entities"]]


def triples_in(context):
    """Return the relations by the names of their ends, sorted."""
    names = {each["id"]: each["name"] for each in context["entities"]}
    return sorted((names[r["from"]], r["type"], names[r["to"]]) for r in context["relations"])


@contextlib.contextmanager
def unguarded(driver):
    """Let anybody write anything while the block runs: the trigger `rules-guard` is stopped."""
    _guard(driver, "CALL apoc.trigger.stop('neo4j', 'rules-guard')", paused=True)
    try:
        yield
    finally:
        _guard(driver, "CALL apoc.trigger.start('neo4j', 'rules-guard')", paused=False)


def _guard(driver, statement, *, paused):
    with driver.session(database="system") as system:
        system.run(statement).consume()

    def is_done():
        listed = (
            "CALL apoc.trigger.list() YIELD name, paused WHERE name = 'rules-guard' RETURN paused"
        )
        with driver.session() as session:
            return [record["paused"] for record in session.run(listed)] == [paused]

    wait_until(is_done)
