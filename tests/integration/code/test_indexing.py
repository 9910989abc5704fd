"""Indexing a folder, and what the graph then answers."""

from itertools import product

import pytest
from neo4j.exceptions import ClientError

SHOP = {
    "shop__cart_py": """
        from shop.prices import price_of


        class Cart:
            def __init__(self):
                self.items = []

            def add(self, item):
                self.items.append(item)

            def total(self):
                return sum(price_of(item) for item in self.items)
    """,
    "shop__prices_py": """
        def price_of(item):
            return TABLE.get(item, standard)(item)


        def standard(item):
            return 1


        def reduced(item):
            return 0.5


        TABLE = {"apple": reduced}
    """,
    "main_py": """
        from shop.cart import Cart

        cart = Cart()
        cart.add("apple")
        print(cart.total())
    """,
}


def test_callers_end_at_definitions_with_file_and_line(repository):
    """`code.callers` lists the function that calls, with the place of the call."""
    shop = repository(**SHOP)
    shop.index()

    assert shop.callers("price_of") == [("shop.cart.Cart.total", "shop/cart.py", 13)]
    assert shop.callers("shop.cart.Cart.add") == [("main", "main.py", 5)]


def test_a_function_in_a_dict_is_called(repository):
    """A call through a table of functions reaches each of them, by the flow of values."""
    shop = repository(**SHOP)
    shop.index()

    rows = shop.call("callees", "price_of", {})

    assert {(row["name"], row["resolution"]) for row in rows} == {
        ("standard", "flow"),
        ("reduced", "flow"),
    }


def test_more_hops_reach_callers_of_callers(repository):
    """With `hops`, callers of callers follow, each with its distance."""
    shop = repository(**SHOP)
    shop.index()

    rows = shop.call("callers", "reduced", {"hops": 3})

    assert [(row["qualifiedName"], row["hops"]) for row in rows] == [
        ("shop.prices.price_of", 1),
        ("shop.cart.Cart.total", 2),
        ("main", 3),
    ]


def test_what_is_used_without_a_call_is_affected_by_a_change(repository):
    """A function in a table is referred to by its module, and a change of it reaches both."""
    shop = repository(**SHOP)
    shop.index()

    rows = shop.call("impact", {"entities": ["shop.prices.reduced"]}, {"relTypes": ["references"]})

    assert [(row["qualifiedName"], row["why"]) for row in rows[1:]] == [
        ("shop.prices", "refers to shop.prices.reduced (shop/prices.py:14)")
    ]
    assert shop.callers("shop.prices.reduced") == [("shop.prices.price_of", "shop/prices.py", 3)]


def test_indexing_again_writes_nothing(repository):
    """If no file has changed, the second indexing writes and removes nothing."""
    shop = repository(**SHOP)
    first = shop.index()

    again = shop.index()

    assert first["written"] > 0
    assert again | {"seconds": 0} == first | {"written": 0, "removed": 0, "seconds": 0}


@pytest.mark.slow
def test_what_has_not_changed_is_not_analysed_again(repository, session):
    """The same files, options and program make the same graph, so the repository is not written."""
    shop = repository(**SHOP)
    versions = []
    for options in ({}, {}, {"communities": "none"}, {"communities": "none"}):
        shop.index(**options)
        versions += session.run(
            "MATCH (r:Repo {repo_id: $id}) RETURN r.version", id=shop.id
        ).value()

    assert versions == [1, 1, 2, 2]


@pytest.mark.slow
def test_a_graph_that_is_compared_with_the_same_files_stays(repository):
    """Where Neo4j does not know what a graph was made of, all is compared, and nothing differs."""
    shop = repository(**SHOP)
    shop.index()

    again = shop.index_anew()

    assert (again["written"], again["removed"]) == (0, 0)


@pytest.mark.slow
def test_an_edited_graph_equals_a_new_one(repository):
    """After edits, moves and deletions the graph is the one that a first indexing makes."""
    shop = repository(**SHOP)
    shop.index()
    shop.write(
        main_py="""
            from shop.basket import Cart

            Cart().total()
        """,
        shop__basket_py=SHOP["shop__cart_py"].replace("add", "put"),
    )
    (shop.folder / "shop" / "cart.py").unlink()
    shop.index()
    edited = shop.edges()

    shop.call("drop")
    shop.index()

    assert shop.edges() == edited
    assert shop.callers("total") == [("main", "main.py", 4)]


def test_what_others_draw_between_entities_stays_theirs(repository, session):
    """A relationship from an entity to anything is neither compared nor listed nor deleted."""
    shop = repository(**SHOP)
    shop.index()
    edges, statistics = shop.edges(), shop.call("stats")
    targets = ("(t:Ticket)", "(t:Ticket {id: 7})", "(t:Entity {repo_id: $id, name: 'price_of'})")
    for target, relationship in product(targets, ("REFERENCES", "CALLS")):
        session.run(
            f"MERGE {target} MERGE (e:Entity {{repo_id: $id, name: 'total'}})"
            f" CREATE (e)-[:{relationship} {{by: 'Ann'}}]->(t)",
            id=shop.id,
        ).consume()

    assert (shop.edges(), shop.call("stats")) == (edges, statistics)
    done = shop.index_anew()
    assert (done["written"], done["removed"]) == (0, 0)
    shop.write(
        shop__cart_py="""
            class Cart:
                def total(self):
                    return 0
        """
    )
    shop.index()
    left = "MATCH (:Entity {name: 'total'})-[r]->() WHERE r.by = 'Ann' RETURN count(r) AS n"
    assert session.run(left).single()["n"] == 6


def test_a_definition_is_found_by_its_line(repository):
    """`code.definition` lists what is around a line, the innermost first."""
    shop = repository(**SHOP)
    shop.index()

    rows = shop.call("definition", "shop/cart.py", 10)

    assert [row["qualifiedName"] for row in rows] == [
        "shop.cart.Cart.add",
        "shop.cart.Cart",
        "shop.cart",
    ]


def test_statistics_count_what_was_not_resolved(repository):
    """`code.stats` counts by type, tier and language, and unresolved calls by file."""
    shop = repository(**SHOP)
    shop.index()

    counts = {(row["kind"], row["key"]): row["count"] for row in shop.call("stats")}

    assert counts["type", "class"] == 1
    assert counts["language", "python"] == sum(
        count for (kind, _), count in counts.items() if kind == "type"
    )
    # `sum` and `append` are outside of the repository.
    assert counts["unresolved", "shop/cart.py"] == 2
    assert counts["tier", "flow"] == 2


def test_a_file_with_a_syntax_error_is_counted_and_named(repository):
    """A broken file hides no other, and `code.stats` names it."""
    shop = repository(**SHOP, broken_py="def broken(:\n    pass\n")
    shop.index()

    failed = [row["key"] for row in shop.call("stats") if row["kind"] == "failed"]

    assert len(failed) == 1
    assert failed[0].startswith("broken.py: ")
    assert shop.callers("price_of")


def test_a_long_expression_hides_nothing(repository):
    """A sum of thousands of texts, as generated files have, is read like others."""
    text = " + ".join(["'a'"] * 2000)
    shop = repository(**SHOP, long_py=f"from main import cart\nx = {text}\ncart.total()\n")

    shop.index()

    assert ("long", "long.py", 3) in shop.callers("shop.cart.Cart.total")


@pytest.mark.parametrize("path", ["/etc", "relative", "{root}/../..", "{root}/missing"])
def test_only_folders_below_the_roots_are_read(code, code_root, path):
    """A path that is outside of the roots, or is not a folder, is refused."""
    with pytest.raises(ClientError, match="SC-972"):
        code.call("index", "r", path.format(root=code_root), {})


def test_a_link_out_of_the_root_is_refused(code, code_root, tmp_path):
    """A symbolic link does not lead out of the roots."""
    link = code_root / "link"
    link.symlink_to(tmp_path)

    with pytest.raises(ClientError, match="SC-972"):
        code.call("index", "r", str(link), {})


def test_a_linked_file_is_not_read(repository, tmp_path):
    """A file that is a symbolic link is left out and named."""
    (tmp_path / "secret.py").write_text("def secret(): pass")
    shop = repository(**SHOP)
    (shop.folder / "linked.py").symlink_to(tmp_path / "secret.py")

    shop.index()

    assert ("failed", "linked.py: symbolic link") in {
        (row["kind"], row["key"]) for row in shop.call("stats")
    }


def test_an_unknown_repository_is_an_error(code):
    """Reading what is not indexed names the repository and says what to do."""
    with pytest.raises(ClientError, match=r"SC-971.*`nothing`.*code\.index"):
        code.call("callers", "nothing", "f", {})


def test_an_unknown_name_is_an_error(repository):
    """A name that nothing has is an error, not an empty answer."""
    shop = repository(**SHOP)
    shop.index()

    with pytest.raises(ClientError, match="SC-978"):
        shop.callers("nothing")


@pytest.mark.parametrize("options", [{"hops": 0}, {"hops": 6}, {"tiers": ["sure"]}, {"hop": 1}])
def test_options_out_of_range_are_refused(code, options):
    """Options that are unknown or out of range are refused by name."""
    with pytest.raises(ClientError, match="SC-"):
        code.call("callers", "r", "f", options)


@pytest.mark.parametrize("identifier", ["", " ", "x" * 201])
def test_a_repository_has_an_id_that_can_be_named(code, code_root, identifier):
    """An id that is empty or too long is refused with the lengths that are allowed."""
    with pytest.raises(ClientError, match=r"(?s)SC-983.*Give 1 to 200"):
        code.call("index", identifier, str(code_root), {})
