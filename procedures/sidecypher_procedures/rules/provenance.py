"""Writing an extraction: who said something, when, where, and found by what."""

from typing import Final

from sidecypher import Context
from sidecypher_procedures.rules.inputs import ExtractionInput

_EXTRACTION: Final = """
    MERGE (u:User {id: $user})
    CREATE (:Extraction {
        extractionId: $extractionId, createdAt: datetime.realtime(), method: $method,
        model: $model, rawSnippet: $rawSnippet, sourceSpan: $sourceSpan
    })
"""
# A session belongs to the user who started it, whoever else speaks in it.
_SESSION: Final = """
    MATCH (e:Extraction {extractionId: $extractionId})
    MERGE (s:Session {id: $sessionId})
    CREATE (e)-[:EXTRACTED_FROM]->(s)
    WITH s WHERE NOT EXISTS { (:User)-[:STARTED]->(s) }
    MATCH (u:User {id: $user})
    CREATE (u)-[:STARTED]->(s)
"""
_ARTIFACT: Final = """
    MATCH (e:Extraction {extractionId: $extractionId})
    MERGE (a:Artifact {id: $artifactId})
    CREATE (e)-[:EXTRACTED_FROM_ARTIFACT]->(a)
    WITH a WHERE NOT EXISTS { (:User)-[:CREATED]->(a) }
    MATCH (u:User {id: $user})
    CREATE (u)-[:CREATED]->(a)
"""
_CONTAINS: Final = """
    MATCH (s:Session {id: $sessionId}), (a:Artifact {id: $artifactId})
    MERGE (s)-[:CONTAINS]->(a)
"""


def write_extraction(ctx: Context, user: str, extraction: ExtractionInput) -> None:
    """Write an extraction with the session and artifact it comes from; the user too, if new.

    Args:
        ctx: The call.
        user: The user's id.
        extraction: What to write; its id is new.
    """
    ctx.run(
        _EXTRACTION,
        user=user,
        extractionId=extraction.extraction_id,
        method=extraction.method,
        model=extraction.model,
        rawSnippet=extraction.raw_snippet,
        sourceSpan=extraction.source_span,
    )
    places = {"sessionId": extraction.session_id, "artifactId": extraction.artifact_id}
    common = {"user": user, "extractionId": extraction.extraction_id}
    if extraction.session_id is not None:
        ctx.run(_SESSION, **common, sessionId=extraction.session_id)
    if extraction.artifact_id is not None:
        ctx.run(_ARTIFACT, **common, artifactId=extraction.artifact_id)
    if None not in places.values():
        ctx.run(_CONTAINS, **places)
