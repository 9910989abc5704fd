"""Concepts and facts of one user, written by Cypher as `rules.remember` writes them."""

from sidecypher_procedures.rules.concepts import Concept, Fact


class Memory:
    """What is remembered of one user; each thing has an extraction of its own."""

    def __init__(self, session, user):
        self.session = session
        self.user = user
        self.extractions = 0

    def extraction(self, session_id=None, artifact_id=None, snippet="said so", created_at=None):
        """Write an extraction with the places it comes from; return its id."""
        self.extractions += 1
        extraction_id = f"{self.user}-e{self.extractions}"
        self.session.run(
            """
            CREATE (e:Extraction {extractionId: $id, method: 'rule', rawSnippet: $snippet})
            SET e.createdAt = coalesce($createdAt, datetime.transaction())
            FOREACH (_ IN CASE WHEN $sessionId IS NULL THEN [] ELSE [1] END |
                MERGE (s:Session {id: $sessionId}) CREATE (e)-[:EXTRACTED_FROM]->(s))
            FOREACH (_ IN CASE WHEN $artifactId IS NULL THEN [] ELSE [1] END |
                MERGE (a:Artifact {id: $artifactId}) CREATE (e)-[:EXTRACTED_FROM_ARTIFACT]->(a))
            """,
            id=extraction_id,
            snippet=snippet,
            createdAt=created_at,
            sessionId=session_id,
            artifactId=artifact_id,
        ).consume()
        return extraction_id

    def concept(self, name, **source):
        """Write a concept; return its key."""
        key = Concept(self.user, name).key
        self.session.run(
            """
            MATCH (e:Extraction {extractionId: $extractionId})
            MERGE (c:Concept {key: $key}) ON CREATE SET c.user = $user, c.name = $name
            CREATE (e)-[:ASSERTED]->(c)
            """,
            extractionId=self.extraction(**source),
            key=key,
            user=self.user,
            name=name,
        ).consume()
        return key

    def fact(self, source, kind, target, **where):
        """Write a fact and its concepts; return its id."""
        fact = Fact(Concept(self.user, source), kind, Concept(self.user, target))
        ends = [self.concept(source, **where), self.concept(target, **where)]
        self.session.run(
            """
            MATCH (e:Extraction {extractionId: $extractionId})
            MATCH (a:Concept {key: $from}), (b:Concept {key: $to})
            MERGE (f:Fact {factId: $factId})
            ON CREATE SET f.user = $user, f.type = $type, f.fromKey = $from, f.toKey = $to
            MERGE (a)-[:RELATED_TO {factId: $factId, type: $type}]->(b)
            CREATE (e)-[:ASSERTED]->(f)
            """,
            {"from": ends[0], "to": ends[1]},
            extractionId=self.extraction(**where),
            factId=fact.fact_id,
            user=self.user,
            type=kind,
        ).consume()
        return fact.fact_id

    def context(self, prompt="", options=None, **more):
        """Read a context."""
        given = {"user": self.user, "prompt": prompt, **more}
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
