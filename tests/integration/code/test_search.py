"""Search, expansion, paths, impact and mentions through Cypher."""

import pytest
from integration.code.conftest import crowd_of, indexed
from integration.code.test_indexing import SHOP
from neo4j.exceptions import ClientError

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


@pytest.fixture(scope="module")
def shop(server, driver, code_root):
    """A repository that every test here reads; no test changes it or empties the graph."""
    server.await_sidecar()
    with driver.session() as session:
        session.run("MATCH (n) DETACH DELETE n").consume()
        yield indexed(session, code_root / "shop-of-searches", **SHOP, **MORE)


@pytest.fixture(scope="module")
def other(shop):
    """Another repository in the same graph."""
    return indexed(shop.session, shop.folder.parent / "other", main_py="def price_of_other(): pass")


@pytest.fixture(scope="module")
def crowd(shop):
    return crowd_of(shop)


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
@pytest.mark.usefixtures("other")
def test_repositories_do_not_mix(shop):
    """A search finds nothing of another repository, even one whose id begins alike."""
    rows = shop.call("search", "price_of_other", {})

    assert {row["filePath"] for row in rows} <= {
        "shop/prices.py",
        "shop/cart.py",
        "main.py",
        "tests/test_cart.py",
        "web/page.js",
    }
    assert "price_of_other" not in {row["name"] for row in rows}


@pytest.mark.usefixtures("crowd")
@pytest.mark.parametrize("leg", ["graph", "sparse"])
def test_another_repository_takes_no_places(shop, leg):
    """Words are found however many chunks of a repository whose id is alike fit them better."""
    rows = shop.call("search", "shop", {"legs": [leg], "limit": 2, "hops": 0})

    assert {row["filePath"] for row in rows} <= {"shop/prices.py", "shop/cart.py"}
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
def test_chunks_of_another_repository_are_refused(shop, other):
    """An id of a chunk of another repository is an error."""
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
