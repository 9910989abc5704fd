"""Filters become a query, and nothing but a query."""

from urllib.parse import parse_qs

import httpx
from hypothesis import given
from hypothesis import strategies as st

from sidecypher_procedures.github import filters
from sidecypher_procedures.github.names import Kind, Target
from sidecypher_procedures.github.paging import Page

BASE = "https://github.example.com/api/v3"
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@given(head=TEXT, base=TEXT)
def test_no_filter_reaches_another_path(head: str, base: str) -> None:
    """Whatever text a filter has, host and path stay, and GitHub reads that same text."""
    query = filters.query({"head": head, "base": base}, filters.PULL_REQUESTS)
    page = Page.first(Target(Kind.REPOSITORY, "o", "r"), "pulls", query)

    url = httpx.URL(BASE + page.path)
    assert (url.host, url.path) == ("github.example.com", "/api/v3/repos/o/r/pulls")
    found = parse_qs(url.query.decode(), keep_blank_values=True, strict_parsing=True)
    assert found == {"per_page": ["100"], "head": [head], "base": [base]}


def test_nulls_and_empty_lists_filter_nothing() -> None:
    """A null counts as not given, and a list without labels is one."""
    assert filters.query({"state": None, "labels": []}, filters.ISSUES) == "per_page=100"
