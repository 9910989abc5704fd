"""The options MAP is checked before any call."""

from contextlib import suppress
from urllib.parse import parse_qs

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecypher.errors import CallError
from sidecypher.sdk.signature.fields import FieldError, Shape
from sidecypher.testing import ProcedureEnvironment
from sidecypher_procedures.github.lists import Page
from sidecypher_procedures.github.model import Kind, Target
from sidecypher_procedures.github.options import (
    CommentListOptions,
    FetchOptions,
    IssueListOptions,
    MergeIssueOptions,
    PullRequestListOptions,
)
from sidecypher_procedures.github.procedures import get_issue, list_issues, merge_issue

BASE = "https://github.example.com/api/v3"
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@pytest.fixture(scope="module")
def environment():
    with ProcedureEnvironment(get_issue, list_issues, merge_issue) as environment:
        yield environment


def test_options_are_read_by_their_cypher_names() -> None:
    """Every option has its own field; null and absence give the default."""
    read = Shape(FetchOptions).read

    parsed = read({"maxAge": 0, "onError": "skip", "timeout": 1.5, "api": "rest"})

    assert parsed == FetchOptions(max_age=0.0, on_error="skip", timeout=1.5, api="rest")
    assert read({}) == read({"maxAge": None}) == FetchOptions()
    assert Shape(MergeIssueOptions).read({"comments": True}).comments


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"api": "soap"}, "options.api"),
        ({"api": 1}, "options.api"),
        ({"maxage": 1}, "maxage"),
        ({"etag": None}, "etag"),
        ({"maxAge": -1}, "options.maxAge"),
        ({"maxAge": True}, "options.maxAge"),
        ({"maxAge": float("nan")}, "options.maxAge"),
        ({"maxAge": "60"}, "options.maxAge"),
        ({"timeout": 0}, "options.timeout"),
        ({"timeout": [1]}, "options.timeout"),
        ({"onError": "ignore"}, "options.onError"),
        ({"onError": ["null"]}, "options.onError"),
    ],
)
@pytest.mark.parametrize("name", ["getIssue", "mergeIssue"])
def test_unusable_options_are_refused_by_name(environment, name, options, named) -> None:
    """An unknown option or an unusable value is an error that names the option."""
    with pytest.raises(CallError, match=f"`{named}`") as caught:
        environment.call(f"github.{name}", "o", "r", 1, options)

    assert caught.value.code == "SC-204"
    assert caught.value.hint


@pytest.mark.parametrize("option", [{"api": "rest"}, {"api": None}, {"maxAge": 60}])
def test_an_option_without_a_meaning_is_unknown(environment, option) -> None:
    """A procedure refuses what could have no effect, and does not tell of it as known."""
    with pytest.raises(CallError, match=f"has no field `{next(iter(option))}`") as caught:
        environment.call("github.listIssues", "o", "r", option)

    known = (
        "`onError`, `timeout`, `perPage`, `limit`, `cursor`, "
        "`state`, `labels`, `since`, `sort`, `direction`."
    )
    assert caught.value.hint.endswith(f"Its fields: {known}")


@given(head=TEXT, base=TEXT)
def test_no_filter_reaches_another_path(head: str, base: str) -> None:
    """Whatever text a filter has, host and path stay, and GitHub reads that same text."""
    query = PullRequestListOptions(head=head, base=base).query
    page = Page.first(Target(Kind.REPOSITORY, "o", "r"), "pulls", query)

    url = httpx.URL(BASE + page.path)
    assert (url.host, url.path) == ("github.example.com", "/api/v3/repos/o/r/pulls")
    found = parse_qs(url.query.decode(), keep_blank_values=True, strict_parsing=True)
    assert found == {"per_page": ["100"], "head": [head], "base": [base]}


@given(cursor=st.from_regex(r"[0-9a-f]{12} [0-9]{1,4} [ -~]*", fullmatch=True) | TEXT)
def test_no_cursor_reaches_another_path(cursor: str) -> None:
    """A cursor that nobody was given is refused, or changes no more than the query."""
    repository = Target(Kind.REPOSITORY, "o", "r")
    with suppress(FieldError):
        Shape(IssueListOptions).read({"cursor": cursor})
        reach(repository, cursor)


def reach(repository: Target, cursor: str) -> None:
    """Check where the page is that an accepted cursor names, whatever list it is of."""
    own = Page.first(repository, "issues", "per_page=100").cursor(0).partition(" ")[0]

    page = Page.first(repository, "issues", "per_page=100", own + cursor[12:])

    url = httpx.URL(BASE + page.path)
    assert (url.host, url.path) == ("github.example.com", "/api/v3/repos/o/r/issues")
    assert url.fragment == ""


def test_limit_and_cursor_are_no_filters() -> None:
    """GitHub knows neither of them."""
    read = Shape(IssueListOptions).read

    assert read({"limit": 0, "cursor": "0123456789ab 0 a=b"}).query == "per_page=100"


def test_nulls_and_empty_lists_filter_nothing() -> None:
    """A null counts as not given, and a list without labels is one."""
    read = Shape(IssueListOptions).read

    assert read({"state": None, "labels": []}).query == "per_page=100"


@pytest.mark.parametrize(
    ("options", "field"),
    [
        (IssueListOptions, {"labels": ["a,b"]}),
        (IssueListOptions, {"labels": [""]}),
        (IssueListOptions, {"labels": ["\ud800"]}),
        (CommentListOptions, {"since": {"$datetime": "0001-01-01T00:00:00+01:00"}}),
        (PullRequestListOptions, {"head": "\ud800"}),
        (PullRequestListOptions, {"sort": "long-running"}),
    ],
)
def test_what_cannot_be_a_parameter_is_refused(options, field) -> None:
    """A value that GitHub would read as another one is refused by name."""
    with pytest.raises(FieldError) as caught:
        Shape(options).read(field)

    assert caught.value.path == f".{next(iter(field))}"


def test_cypher_writes_camel_case_and_github_does_not() -> None:
    """A value of GitHub's with a hyphen is camelCase in Cypher, as all enumerations are."""
    read = Shape(PullRequestListOptions).read

    assert read({"sort": "longRunning", "perPage": 5}).query == "per_page=5&sort=long-running"
