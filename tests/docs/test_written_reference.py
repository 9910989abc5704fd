"""The reference that is written from the catalogue."""

from docs.pages import ROOT, headings, page_named

from procedure_reference import reference
from sidecypher.loading.loader import load


def test_the_reference_is_written_from_the_catalogue():
    """docs/reference.md is what `make reference` writes."""
    assert page_named("docs/reference.md") == reference(load([]).registry)


def test_the_reference_has_everything_that_ships():
    """docs/reference.md has a heading for each procedure and function."""
    titles = headings(ROOT / "docs/reference.md")

    assert sorted(title for title in titles if "." in title) == sorted(
        each.name for each in load([]).registry
    )
