"""Links between the pages."""

import re

import pytest
from docs.pages import PAGES, headings, links, name_of


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_internal_links_resolve(page):
    """A link to a file or heading of this repository leads to one that is there."""
    broken = [target for target in links(page) if not _resolves(page, target)]

    assert broken == []


def _resolves(page, target):
    if re.match(r"https?:", target):
        return True
    path, _, anchor = target.partition("#")
    file = page.parent / path if path else page
    return file.exists() and (not anchor or anchor in map(_anchor, headings(file)))


def _anchor(heading):
    """Return the anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
