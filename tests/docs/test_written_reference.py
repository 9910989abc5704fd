"""The reference that is written from the catalogue."""

import runpy

from docs.pages import ROOT, headings, page_named

from sidecypher.loading import load


def test_the_reference_is_written_from_the_catalogue():
    """docs/reference.md is what `make reference` writes."""
    written = runpy.run_path(str(ROOT / "docs/write_reference.py"))
    catalogue = load([]).registry.catalogue

    assert page_named("docs/reference.md") == written["reference"](catalogue)


def test_the_reference_has_everything_that_ships():
    """docs/reference.md has a heading for each procedure and function."""
    titles = headings(ROOT / "docs/reference.md")

    assert sorted(title for title in titles if "." in title) == sorted(
        each.name for each in load([]).registry
    )
