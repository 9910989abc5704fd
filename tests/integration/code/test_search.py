"""Search, expansion, paths, impact and mentions through Cypher."""

import pytest
from fix_waiting import awaited
from integration.code.conftest import Repository
from integration.code.test_indexing import SHOP
from neo4j.exceptions import ClientError

from sidecypher_procedures.code.vectors import embed_chunks

MORE = {
    "tests__test_cart_py": """
        from shop.cart import Cart


        def test_total():
            assert Cart().total() == 0
    """,
    "web__page_js": """
        export function renderCart(items) {
            return items.map(renderItem).join("");
        }

        function renderItem(item) {
            return `<li>${item}</li>`;
        }
    """,
}


@pytest.fixture
def shop(repository):
    made = repository(**SHOP, **MORE)
    made.index()
    return made


def found(rows):
    return [(row["filePath"], row["name"]) for row in rows]


def test_a_name_is_found_before_what_is_around_it(shop):
    """The function with the name comes first, with the reason; its callers follow, with the way."""
    rows = shop.call("search", "price_of", {"legs": ["graph"], "relTypes": ["calls"]})

    assert found(rows)[0] == ("shop/prices.py", "price_of")
    assert rows[0]["hops"] == 0
    assert rows[0]["why"] == ["shop.prices.price_of is named `price_of`"]
    [total] = [row for row in rows if row["name"] == "total"]
    assert total["hops"] == 1
    assert total["why"] == [
        "shop.prices.price_of is named `price_of`",
        "shop.cart.Cart.total calls shop.prices.price_of (shop/cart.py:13)",
    ]


def test_parts_of_identifiers_are_words(shop):
    """`render item` finds `renderItem`, by the graph and by words."""
    for leg in ("graph", "sparse"):
        rows = shop.call("search", "render item", {"legs": [leg]})

        assert ("web/page.js", "renderItem") in found(rows)[:2], leg


def test_hops_limit_how_far_a_search_goes(shop):
    """Without hops only what the query names is found; each hop adds what is around."""
    options = {"legs": ["graph"], "relTypes": ["calls"]}

    names = [
        {row["name"] for row in shop.call("search", "reduced", {**options, "hops": hops})}
        for hops in (0, 1, 2)
    ]

    near = {"reduced", "price_of"}
    assert names == [{"reduced"}, near, near | {"total", "standard"}]


def test_directions_and_types_limit_what_is_followed(shop):
    """`in` follows relationships to their source only, `out` to their target."""
    options = {"legs": ["graph"], "relTypes": ["calls"], "hops": 1}

    def reached(direction):
        rows = shop.call("search", "reduced", {**options, "direction": direction})
        return {row["name"] for row in rows if row["hops"]}

    assert reached("in") == {"price_of"}
    assert reached("out") == set()


def test_what_a_leg_lacks_is_said(shop):
    """A leg that finds nothing, or that cannot run, is named in each row; the others answer."""
    rows = shop.call("search", "price_of", {"legs": ["graph", "dense"]})

    assert rows
    assert all(row["notices"] == ["dense: no chunk has an embedding"] for row in rows)


def test_two_searches_are_equal(shop):
    """The same search gives the same rows in the same order."""
    one, other = (shop.call("search", "cart item price", {}) for _ in range(2))

    assert one == other


@pytest.mark.slow
def test_repositories_do_not_mix(shop, repository):
    """A search finds nothing of another repository, even one whose id begins alike."""
    other = repository(main_py="def price_of_other(): pass")
    other.index()

    rows = shop.call("search", "price_of_other", {})

    assert {row["filePath"] for row in rows} <= {
        "shop/prices.py",
        "shop/cart.py",
        "main.py",
        "tests/test_cart.py",
        "web/page.js",
    }
    assert "price_of_other" not in {row["name"] for row in rows}


@pytest.fixture
def crowd(shop, code_root):
    """A repository whose id has the words of another's, and whose functions take all places."""
    folder = code_root / f"{shop.id}-copy"
    folder.mkdir()
    made = Repository(shop.session, folder)
    made.write(shop__shop_py="".join(f"def shop_shop_{n}(): pass\n" for n in range(100)))
    made.index()
    return made


@pytest.mark.parametrize("leg", ["graph", "sparse"])
def test_another_repository_takes_no_places(shop, crowd, leg):
    """Words are found however many chunks of a repository whose id is alike fit them better."""
    rows = shop.call("search", "shop", {"legs": [leg], "limit": 2, "hops": 0})

    assert {row["filePath"] for row in rows} <= {"shop/prices.py", "shop/cart.py"}
    assert len(rows) == 2


@pytest.mark.slow
def test_another_repository_is_no_nearer(shop, crowd):
    """The nearest chunks are found however many of another repository are nearer."""
    session = shop.session
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


def test_a_search_that_cannot_be_done_is_refused(shop):
    """An empty or too long query and wrong options are errors that name what is wrong."""
    for query, options, problem in [
        ("", {}, "no word"),
        (" ?! ", {}, "no word"),
        ("x" * 100_000, {}, "10000"),
        ("price", {"hops": 6}, "hops"),
        ("price", {"limit": 0}, "limit"),
        ("price", {"legs": []}, "legs"),
        ("price", {"legs": ["google"]}, "legs"),
        ("price", {"hop": 1}, "hop"),
    ]:
        with pytest.raises(ClientError, match=problem):
            shop.call("search", query, options)


def test_a_query_is_words_and_no_syntax(shop):
    """Signs of the full-text index's query language break no search."""
    for sign in ['a" OR b:*', "AND OR NOT", "name:(", "café 数 `x`", "a\\", "~^[]{}"]:
        rows = shop.call("search", f"price_of {sign}", {})

        assert "price_of" in {row["name"] for row in rows}, sign


@pytest.mark.parametrize("leg", ["graph", "sparse"])
def test_a_query_of_stop_words_finds_nothing(shop, leg):
    """A word that the full-text index leaves out is in no chunk, instead of in each."""
    assert shop.call("search", "the", {"legs": [leg]}) == []


def test_expansion_leaves_the_given_chunks_out(shop):
    """`code.expand` lists what is around chunks, not the chunks."""
    [total, *_] = shop.call("search", "total", {"legs": ["graph"]})
    rows = shop.call("expand", [total["chunkId"]], {"hops": 1, "relTypes": ["calls"]})

    assert total["chunkId"] not in {row["chunkId"] for row in rows}
    assert {"price_of", "test_total"} <= {row["name"] for row in rows}


@pytest.mark.slow
def test_chunks_of_another_repository_are_refused(shop, repository):
    """An id of a chunk of another repository is an error."""
    other = repository(main_py="def other(): pass")
    other.index()
    [chunk, *_] = other.call("search", "other", {})

    with pytest.raises(ClientError, match="not part of the repository"):
        shop.call("expand", [chunk["chunkId"]], {})


@pytest.mark.slow
def test_a_path_ends_at_its_target(shop):
    """`code.path` lists the calls on the way, with their lines; there may be none."""
    rows = shop.call("path", "test_total", "reduced", {})

    assert [(row["name"], row["line"]) for row in rows] == [
        ("test_total", 6),
        ("total", 13),
        ("price_of", 3),
        ("reduced", 10),
    ]
    assert shop.call("path", "reduced", "test_total", {}) == []


@pytest.mark.slow
def test_the_impact_of_a_diff_begins_at_the_changed_functions(shop):
    """Tests come first, then what has changed, then what is further away."""
    diff = "--- a/shop/prices.py\n+++ b/shop/prices.py\n@@ -11 +11 @@\n-old\n+new\n"
    rows = shop.call("impact", {"diff": diff}, {})

    assert [(row["depth"], row["name"], row["isTest"]) for row in rows][:5] == [
        (3, "test_total", True),
        (0, "reduced", False),
        (1, "prices", False),
        (1, "price_of", False),
        (2, "total", False),
    ]


def test_a_change_of_nothing_is_refused(shop):
    """A change without entities, files and diff is an error, as is a diff that is none."""
    with pytest.raises(ClientError, match="no `entities`"):
        shop.call("impact", {}, {})
    with pytest.raises(ClientError, match="@@"):
        shop.call("impact", {"diff": "see above"}, {})
    with pytest.raises(ClientError, match="nope"):
        shop.call("impact", {"entities": ["nope"]}, {})


def test_definitions_that_a_text_names_are_found(shop):
    """Names that are code, qualified names and places are mentions; words of English are not."""
    text = "The total of `add` is wrong: Cart.total and price_of() fail, see shop/prices.py:7."
    rows = shop.call("link", text)

    assert {row["mention"]: row["qualifiedName"] for row in rows} == {
        "add": "shop.cart.Cart.add",
        "Cart.total": "shop.cart.Cart.total",
        "price_of": "shop.prices.price_of",
        "shop/prices.py:7": "shop.prices.standard",
    }


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


def test_imports_are_found_only_if_they_are_asked_for(shop):
    """Many files import a name that one defines: by default only the definition is found."""
    options = {"legs": ["graph"], "hops": 0}

    defined = shop.call("search", "price_of", options)
    [imported] = shop.call("search", "price_of", {**options, "entityTypes": ["import"]})

    assert {row["filePath"] for row in defined} == {"shop/prices.py"}
    assert imported["filePath"] == "shop/cart.py"
    assert imported["why"] == ["shop.cart.price_of is named `price_of`"]


def test_a_line_of_imports_is_part_of_the_module_alone(shop):
    """What imports bring is defined elsewhere."""
    rows = shop.call("definition", "shop/cart.py", 2)

    assert [row["type"] for row in rows] == ["module"]
