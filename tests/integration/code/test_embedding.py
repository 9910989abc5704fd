"""Embeddings of chunks, by which `code.search` finds what means the same."""

import pytest
from fix_waiting import awaited
from integration.code.conftest import crowd_of
from integration.code.test_indexing import SHOP

from sidecypher_procedures.code.vectors import embed_chunks


@pytest.fixture
def shop(repository):
    made = repository(**SHOP)
    made.index()
    return made


@pytest.mark.slow
def test_another_repository_is_no_nearer(shop):
    """The nearest chunks are found however many of another repository are nearer."""
    session, crowd = shop.session, crowd_of(shop)
    near = """
        MATCH (c:Chunk {repo_id: $id})
        CALL db.create.setNodeVectorProperty(c, 'embedding', $vector) FINISH
    """
    index = """
        CREATE VECTOR INDEX chunk_embedding IF NOT EXISTS FOR (c:Chunk) ON (c.embedding)
        OPTIONS {indexConfig: {`vector.dimensions`: 2, `vector.similarity_function`: 'cosine'}}
    """
    for repository, vector in ((crowd, [1.0, 0.0]), (shop, [1.0, 1.0])):
        session.run(near, id=repository.id, vector=vector).consume()
    try:
        session.run(index).consume()
        session.run("CALL db.awaitIndexes()").consume()
        rows = shop.call("search", "cost", {"legs": ["dense"], "limit": 2, "vector": [1.0, 0.0]})
    finally:
        session.run("DROP INDEX chunk_embedding IF EXISTS").consume()

    assert len(rows) == 2


@pytest.mark.slow
def test_embeddings_find_what_means_the_same(shop, outside):
    """With embeddings of an API, the leg `dense` finds chunks by the nearest vector."""

    def answer(request):
        texts = request["body"]["input"]
        vectors = [
            [1.0, 0.0] if "price" in text or "cost" in text else [0.0, 1.0] for text in texts
        ]
        data = [{"index": index, "embedding": each} for index, each in enumerate(vectors)]
        return 200, {"data": data[::-1]}

    outside.answer = answer
    try:
        [row] = shop.call("embed", {})
        # The index fills in the background.
        shop.session.run("CALL db.awaitIndexes()").consume()
        rows = shop.call("search", "what does it cost?", {"legs": ["dense"], "limit": 2})
        wrong = shop.call("search", "cost", {"legs": ["graph", "dense"], "vector": [1.0]})
        outside.answer = lambda request: (503, {})
        away = shop.call("search", "price_of", {"legs": ["graph", "dense"]})
    finally:
        shop.session.run("DROP INDEX chunk_embedding IF EXISTS").consume()

    assert row["left"] == 0
    assert outside.requests[0]["headers"]["authorization"] == "Bearer key-of-tests"
    assert {row["filePath"] for row in rows} <= {"shop/prices.py", "shop/cart.py"}
    assert all(row["why"] == [f"dense: rank {rank}"] for rank, row in enumerate(rows, start=1))
    assert wrong == []
    assert away[0]["notices"] == ["dense: The embeddings' API has answered 503"]


@pytest.fixture
def embedded(shop):
    """The shop, each of whose chunks has an embedding."""
    embed = """
        MATCH (c:Chunk {repo_id: $id})
        CALL db.create.setNodeVectorProperty(c, 'embedding', [1.0, 0.5]) FINISH
    """
    shop.session.run(embed, id=shop.id).consume()
    return shop


def without_embedding(repository):
    query = "MATCH (c:Chunk {repo_id: $id}) WHERE c.embedding IS NULL RETURN c.text AS text"
    return {row["text"] for row in repository.session.run(query, id=repository.id)}


def test_a_chunk_that_has_moved_keeps_its_embedding(embedded):
    """A line above moves the chunks below it; only the one whose text changes loses it."""
    text = (embedded.folder / "shop/prices.py").read_text()
    embedded.write(shop__prices_py="# Prices.\n" + text.replace("return 1", "return 2"))
    embedded.index()

    changed = {"# Prices.\n", "def standard(item):\n    return 2\n\n"}
    assert without_embedding(embedded) == changed


@awaited
async def test_a_chunk_that_changes_meanwhile_gets_no_embedding_of_its_old_text(shop):
    """What is indexed while the embedder works is left for the next call."""

    async def run(statement, **parameters):
        return shop.session.run(statement, parameters).data()

    class Slow:
        async def embed(self, texts):
            if len(texts) > 1:
                shop.write(main_py="print('none')\n")
                shop.index()
            return [[1.0, 0.5] for _ in texts]

    try:
        done = await embed_chunks(run, run, shop.id, Slow(), 1000)
    finally:
        shop.session.run("DROP INDEX chunk_embedding IF EXISTS").consume()

    assert without_embedding(shop) == {"print('none')"}
    assert done.left == 1
