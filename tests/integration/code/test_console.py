"""Repositories of code on the console: over HTTP, and in a real browser with a real Neo4j."""

import xml.etree.ElementTree as ET

import httpx
import pytest
from integration.code.test_indexing import SHOP
from playwright.sync_api import expect

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def http(server, session):
    """A client of the sidecar with the token."""
    token = (server.home / "run" / "http-token").read_text().strip()
    with httpx.Client(
        base_url=f"http://127.0.0.1:{server.sidecar.http}",
        headers={"Authorization": f"Bearer {token}"},
        trust_env=False,
        timeout=60,
    ) as http:
        yield http


@pytest.fixture
def shop(repository):
    """An indexed repository."""
    shop = repository(**SHOP)
    shop.index()
    return shop


def test_indexed_repositories_are_listed(http, shop):
    """`GET /v1/repositories` has what `code.list` returns, with times as text."""
    told = http.get("/v1/repositories").json()

    [row] = [each for each in told["repositories"] if each["repoId"] == shop.id]
    assert told["problem"] is None
    assert (row["status"], row["indexedAt"][-1]) == ("ready", "Z")
    assert row["entities"] > 5


def test_a_repository_is_shown_with_its_map(http, shop):
    """Counts as `code.stats` has them, and the picture of `code.map` with its words."""
    told = http.get("/v1/repositories/one", params={"id": shop.id}).json()

    assert all(each in shop.call("stats") for each in told["statistics"])
    kinds = {each["kind"] for each in told["statistics"]}
    assert {"type", "language", "tier", "relationship", "unresolved", "community"} <= kinds
    assert told["description"] == ET.fromstring(told["picture"]).find(f"{SVG}desc").text


def test_of_each_kind_the_largest_ten_are_told(http, repository):
    """A repository with many files does not fill the page with their names."""
    many = repository(**{f"part{n}_py": "print()\n" * n for n in range(1, 13)})
    many.index()

    told = http.get("/v1/repositories/one", params={"id": many.id}).json()["statistics"]

    open_calls = [each for each in told if each["kind"] == "unresolved"]
    assert [each["count"] for each in open_calls] == [*range(12, 2, -1)]


def test_an_unknown_repository_has_its_code(http):
    """What is not indexed is an error, as it is for the procedures."""
    assert http.get("/v1/repositories/one", params={"id": "none"}).json()["code"] == "SC-971"
    assert http.get("/v1/repositories/one").json()["code"] == "SC-971"


@pytest.fixture
def console(http, visit):
    """Open the page and show it the token."""

    def open_(**options):
        found = visit(str(http.base_url), **options)
        token = http.headers["authorization"].removeprefix("Bearer ")
        found.page.get_by_label("Token for HTTP").fill(token)
        found.page.get_by_role("button", name="Show them").click()
        found.page.locator("#repositories").wait_for()
        return found

    return open_


def show(page, shop):
    page.get_by_role("button", name=f"Show graph of {shop.id}", exact=True).click()
    page.get_by_role("heading", name=f"Repository {shop.id}", exact=True).wait_for()


def test_a_repository_is_shown_on_the_page(console, shop):
    """Its counts are in a table, its map is drawn, and the heading has the focus."""
    found = console()
    page = found.page

    show(page, shop)

    expect(page.get_by_role("heading", name=f"Repository {shop.id}")).to_be_focused()
    rows = page.locator("#statistics tr").all_inner_texts()
    assert "language\tpython" in {row.rpartition("\t")[0] for row in rows}
    picture = page.locator("#map img")
    assert "entities" in picture.get_attribute("alt")
    page.wait_for_function("document.querySelector('#map img').naturalWidth > 0")
    assert found.told == []


def test_forgetting_the_token_hides_repositories(console, shop):
    """Ids, counts and the map leave the page together with the token."""
    page = console().page
    show(page, shop)

    page.get_by_role("button", name="Forget the token").click()

    assert page.locator("#repositories").is_hidden()
    assert page.locator("#indexed tr, #statistics tr, #map img").count() == 0
    kept = page.evaluate("document.documentElement.outerHTML")
    assert shop.id not in kept.partition('id="repositories"')[2].partition("</section>")[0]


def test_a_repository_that_was_dropped_meanwhile_is_told(console, shop):
    """The list is read again, without it."""
    page = console().page
    button = page.get_by_role("button", name=f"Show graph of {shop.id}", exact=True)
    button.wait_for()
    shop.call("drop")

    button.click()

    page.get_by_role("status").get_by_text("There is no repository").wait_for()
    expect(button).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.deep)])
def test_axe_finds_nothing(console, shop, scheme):
    """No rule of axe-core is violated with a repository shown, in both schemes."""
    found = console()
    found.page.emulate_media(color_scheme=scheme)
    show(found.page, shop)

    assert found.violations() == []


def test_a_narrow_window_does_not_scroll_sideways(console, shop):
    """Tables and the map stay within a telephone's width, or scroll by themselves."""
    page = console(viewport={"width": 360, "height": 700}).page
    show(page, shop)

    assert page.evaluate("document.documentElement.scrollWidth") <= 360
