"""The embeddings of chunks, and the index that finds the nearest."""

from typing import Final, LiteralString

from sidecypher_procedures.code.embeddings import Embedder
from sidecypher_procedures.code.errors import EmbeddingFailed
from sidecypher_procedures.code.rows import Embedded
from sidecypher_procedures.code.store import Run

INDEX: Final = "chunk_embedding"

_BATCH: Final = 64
"""The most texts of a request."""

_LONGEST: Final = 8_000
"""The most characters of a text: models read some thousand tokens, and what follows is cut off."""

_DIMENSIONS: Final[LiteralString] = """
    SHOW INDEXES YIELD name, state, options WHERE name = $name AND state = 'ONLINE'
    RETURN options.indexConfig['vector.dimensions'] AS dimensions
"""
_CREATE_INDEX: Final[LiteralString] = """
    CREATE VECTOR INDEX chunk_embedding IF NOT EXISTS FOR (c:Chunk) ON (c.embedding)
    OPTIONS {indexConfig: {`vector.dimensions`: $dimensions,
        `vector.similarity_function`: 'cosine'}}
"""
_WITHOUT: Final[LiteralString] = """
    MATCH (c:Chunk) WHERE c.repo_id = $repoId AND c.file_path >= '' AND c.embedding IS NULL
    RETURN c.id AS id, left(c.text, $longest) AS text ORDER BY c.file_path, c.start_line LIMIT $most
"""
# A chunk may have got another text while the embedder worked. The SET locks it, so that the text
# stays from then on.
_SET: Final[LiteralString] = """
    UNWIND $rows AS row
    MATCH (c:Chunk {id: row.id})
    SET c.id = c.id
    WITH c, row WHERE left(c.text, $longest) = row.text
    CALL db.create.setNodeVectorProperty(c, 'embedding', row.embedding)
    RETURN count(*) AS embedded
"""
_LEFT: Final[LiteralString] = """
    MATCH (c:Chunk) WHERE c.repo_id = $repoId AND c.file_path >= '' AND c.embedding IS NULL
    RETURN count(*) AS left
"""


async def dimensions(run_apart: Run) -> int | None:
    """Return how many numbers an embedding has; None if there is no index of embeddings."""
    return next((record["dimensions"] for record in await run_apart(_DIMENSIONS, name=INDEX)), None)


async def _prepare(run_apart: Run, embedder: Embedder) -> None:
    """Create the index if it is not there, and check that the vectors fit it."""
    found = await dimensions(run_apart)
    [vector] = await embedder.embed(["code"])
    if found is None:
        await run_apart(_CREATE_INDEX, dimensions=len(vector))
    elif found != len(vector):
        raise EmbeddingFailed(
            f"The embeddings have {len(vector)} numbers, and the index `{INDEX}` is for {found}",
            hint=f"Drop the index `{INDEX}`, remove the property `embedding`, and embed again.",
        )


async def embed_chunks(
    run: Run, run_apart: Run, repo_id: str, embedder: Embedder, most: int
) -> Embedded:
    """Give chunks without an embedding one; create the index first if it is not there.

    Args:
        run: Runs a statement.
        run_apart: Runs one in a transaction of its own, which an index needs.
        repo_id: The repository.
        embedder: Makes the vectors.
        most: The most chunks.

    Raises:
        EmbeddingFailed: The embedder fails, or its vectors do not fit the index.
    """
    # Before the caller's transaction reads chunks: an index waits until nobody does.
    await _prepare(run_apart, embedder)
    chunks = [*await run(_WITHOUT, repoId=repo_id, most=most, longest=_LONGEST)]
    embedded = 0
    for begin in range(0, len(chunks), _BATCH):
        batch = chunks[begin : begin + _BATCH]
        vectors = await embedder.embed([chunk["text"] for chunk in batch])
        rows = [
            {**chunk, "embedding": vector} for chunk, vector in zip(batch, vectors, strict=True)
        ]
        [record] = await run(_SET, rows=rows, longest=_LONGEST)
        embedded += record["embedded"]
    [record] = await run(_LEFT, repoId=repo_id)
    return Embedded(embedded=embedded, left=record["left"])
