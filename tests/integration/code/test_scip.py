"""Indexing with SCIP indexes."""

import json

import pytest
from fix_scip import GO, document, go_document, index
from neo4j.exceptions import ClientError

CALLERS = [("shop.buy", "shop.go", 10)]


def test_an_index_decides_between_methods_of_a_name(repository):
    """With the option `scip`, the callers of a method are those that have its type."""
    shop = repository(shop_go=GO)
    (shop.folder / "index.scip").write_bytes(index(go_document()))

    shop.index()
    assert shop.callers("Cart.Add") == []
    shop.index(scip=["index.scip"])

    assert shop.callers("Cart.Add") == CALLERS
    [row] = shop.call("callees", "buy", {"limit": 1})
    assert (row["resolution"], row["confidence"]) == ("typed", 0.95)


@pytest.mark.slow
def test_an_edited_graph_equals_a_new_one(repository):
    """With an index that no longer fits a file, the graph is the one of a first indexing."""
    other = "package shop\n\nfunc other(c *Cart) {\n\tc.Add()\n}\n"
    shop = repository(shop_go=GO, other_go=other)
    (shop.folder / "index.scip").write_bytes(index(go_document()))
    shop.index(scip=["index.scip"])
    shop.write(shop_go=GO.replace("func buy", "\nfunc buy"))
    shop.index(scip=["index.scip"])
    edited = shop.edges()
    failed = [row["key"] for row in shop.call("stats") if row["kind"] == "failed"]

    shop.call("drop")
    shop.index(scip=["index.scip"])

    assert shop.edges() == edited
    assert shop.callers("Cart.Add") == []
    assert failed == ["shop.go: differs from its SCIP index in 7 places"]


def test_indexing_again_with_an_index_writes_nothing(repository):
    """The same files and the same index are the same graph."""
    shop = repository(shop_go=GO)
    (shop.folder / "index.scip").write_bytes(index(go_document()))
    shop.index(scip=["index.scip"])

    again = shop.index(scip=["index.scip"])

    assert (again["written"], again["removed"]) == (0, 0)


def test_a_new_index_counts(repository):
    """If only the index has changed, the repository is indexed again."""
    shop = repository(shop_go=GO)
    (shop.folder / "index.scip").write_bytes(index(document("shop.go")))
    shop.index(scip=["index.scip"])
    (shop.folder / "index.scip").write_bytes(index(go_document()))

    shop.index(scip=["index.scip"])

    assert shop.callers("Cart.Add") == CALLERS


def test_a_file_that_is_no_index_changes_nothing(repository):
    """A broken index is refused by its name, and the graph stays as it was."""
    shop = repository(shop_go=GO)
    (shop.folder / "index.scip").write_bytes(index(go_document()))
    shop.index(scip=["index.scip"])
    (shop.folder / "index.scip").write_bytes(index(go_document())[:-1])

    with pytest.raises(ClientError, match=r"SC-984.*`index\.scip`"):
        shop.index(scip=["index.scip"])

    assert shop.callers("Cart.Add") == CALLERS


def test_the_command_reads_an_index(server, session, tmp_path):
    """`code index --scip` names an index by its path from the folder."""
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/shop.go").write_text(GO)
    (tmp_path / "shop/index.scip").write_bytes(index(go_document()))

    indexed = server.command("code", "index", tmp_path / "shop", "--scip", "index.scip")
    found = server.command("code", "callers", "shop", "Cart.Add", "--json")

    assert (indexed.returncode, indexed.stderr) == (0, "")
    assert [row["line"] for row in json.loads(found.stdout)] == [10]
