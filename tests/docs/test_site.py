"""The site that `make docs` makes."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest
from docs.pages import PAGES, ROOT, name_of
from docs.test_reference import documented_errors

# What a browser fetches by itself; a link is followed by its reader.
_FETCHED = {("link", "href"), ("script", "src"), ("img", "src"), ("iframe", "src")}


class Html(HTMLParser):
    """A page of the site: its anchors, where it leads, and what it has a browser fetch."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.fetched, self.nav = set(), [], [], []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag, attributes):
        told = dict(attributes)
        self.anchors.add(told.get("id"))
        self.fetched += [told[name] for kind, name in _FETCHED if kind == tag and name in told]
        if tag == "a" and "href" in told:
            self.links.append(told["href"])
            if "md-nav__link" in told.get("class", "").split():
                self.nav.append(told["href"])


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The site, in a folder, and what MkDocs said when it made it."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder, done.stdout + done.stderr


@pytest.fixture(scope="module")
def site(built):
    """Each page of the site by its path, but the one for what is not found."""
    folder, _ = built
    return {path: Html(path) for path in folder.rglob("*.html") if path.name != "404.html"}


def test_the_site_is_built_without_a_warning(built):
    """`mkdocs build --strict` has nothing to say but that it builds."""
    told = [line for line in built[1].splitlines() if not line.startswith("INFO ")]

    assert told == []


def test_language_models_find_every_page(built, site):
    """`llms.txt` has a line for each page, with what it is about; the other file has the pages."""
    folder, _ = built
    listed = re.findall(
        r"^- \[.+?\]\((\S+)\): (.*)$", (folder / "llms.txt").read_text(), re.MULTILINE
    )
    everything = (folder / "llms-full.txt").read_text()

    assert {url for url, _ in listed} == {path.relative_to(folder).as_posix() for path in site}
    assert [url for url, about in listed if not about] == []
    assert [each.name for each in PAGES if each.read_text() not in everything] == []


def test_every_page_is_in_the_navigation(built, site):
    """Each page of the repository is a page of the site, which its navigation leads to."""
    folder, _ = built
    pages = {address(name_of(page)) for page in PAGES}
    led = {target for target in site[folder / "index.html"].nav if not target.startswith("#")}

    assert {path.relative_to(folder).as_posix() for path in site} == pages
    assert {"index.html" if target == "." else target for target in led} == pages


def address(name):
    """Return the path in the site of a page of the repository."""
    return re.sub(r"(^|/)README\.md$", r"\1index.md", name).removesuffix(".md") + ".html"


def test_links_of_the_site_resolve(built, site):
    """A link to a page, file or anchor of the site leads to one that is there."""
    folder, _ = built
    broken = [
        f"{path.relative_to(folder)}: {target}"
        for path, page in site.items()
        for target in page.links
        if not resolves(site, path, target)
    ]

    assert broken == []


def resolves(site, path, target):
    parts = urlsplit(target)
    if parts.scheme:
        return parts.scheme in {"http", "https"}
    file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if file.is_dir():
        file /= "index.html"
    return file.exists() and (
        not parts.fragment or file not in site or unquote(parts.fragment) in site[file].anchors
    )


def test_blocks_and_tables_are_rendered(built, site):
    """No page shows the marks of a block, or of a bar in a table's code."""
    folder, _ = built
    raw = {
        path.relative_to(folder).as_posix()
        for path in site
        if re.search(r"```|\\\|", path.read_text("utf-8"))
    }

    assert raw == set()


def test_the_site_asks_no_other_host(built, site):
    """Scripts, styles, fonts and pictures of the site are files of the site."""
    folder, _ = built
    for path, page in site.items():
        missing = [
            name for name in page.fetched if not (path.parent / name.partition("?")[0]).exists()
        ]
        assert missing == [], path.relative_to(folder)
    for style in folder.rglob("*.css"):
        assert re.findall(r"""url\(["']?(?:https?:)?//""", style.read_text("utf-8")) == []


def test_the_search_index_has_every_page(built, site):
    """The search finds pages by an index that is part of the site."""
    folder, _ = built
    index = (folder / "search/search_index.json").read_text("utf-8")

    assert [path for path in site if f'"{path.relative_to(folder).as_posix()}' not in index] == []


def test_every_error_code_has_an_anchor(built, site):
    """The line of SC-204 is at `docs/errors.html#sc-204`, and so for each code."""
    folder, _ = built
    anchors = site[folder / "docs/errors.html"].anchors

    assert [row[0] for row in documented_errors() if row[0].lower() not in anchors] == []
