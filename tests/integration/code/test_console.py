"""Repositories of code on the console, with a real Neo4j behind it."""

import xml.etree.ElementTree as ET

import pytest
from integration.code.test_indexing import SHOP

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def shop(repository):
    """An indexed repository."""
    shop = repository(**SHOP)
    shop.index()
    return shop


def test_indexed_repositories_are_listed(blocks, shop):
    """The panel has what `code.list` returns, each with a link."""
    [table] = blocks("repositories")

    row = table["rows"][table["ids"].index(shop.id)]
    assert row[:2] == [shop.id, "ready"]
    assert "at" in row[2]
    assert row[3] > 5


@pytest.mark.slow
def test_a_repository_is_shown_with_its_map(blocks, shop):
    """Counts as `code.stats` has them, and the picture of `code.map` with its words."""
    picture, table = blocks("repositories", shop.id)

    stats = [[each["kind"], each["key"], each["count"]] for each in shop.call("stats")]
    assert all(row in stats for row in table["rows"])
    kinds = {kind for kind, *_ in table["rows"]}
    assert {"type", "language", "tier", "relationship", "unresolved", "community"} <= kinds
    assert picture["description"] == ET.fromstring(picture["svg"]).find(f"{SVG}desc").text


def test_of_each_kind_the_largest_ten_are_told(blocks, repository):
    """A repository with many files does not fill the page with their names."""
    many = repository(**{f"part{n}_py": "print()\n" * n for n in range(1, 13)})
    many.index()

    rows = blocks("repositories", many.id)[1]["rows"]

    assert [row[2] for row in rows if row[0] == "unresolved"] == [*range(12, 2, -1)]


def test_an_unknown_repository_has_its_code(sidecar_http):
    """What is not indexed is an error, as it is for the procedures."""
    answer = sidecar_http.get("/v1/panels/repositories", params={"id": "none"})

    assert answer.json()["code"] == "SC-971"


def test_a_repository_is_shown_on_the_page(open_panel, shop):
    """Its counts are in a table and its map is drawn; the address leads to it."""
    found = open_panel(f"repositories?id={shop.id}")
    page = found.page

    page.locator(".picture img").evaluate("(image) => image.decode()")

    assert "entities" in page.locator(".picture img").get_attribute("alt")
    assert page.get_by_role("heading", name=f"Repository {shop.id}").is_visible()
    rows = page.locator("main tbody tr").all_inner_texts()
    assert "language\tpython" in {row.rpartition("\t")[0] for row in rows}
    assert found.told == []
