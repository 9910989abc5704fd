"""What `github.rest`, `github.graphql` and searches send is what was checked."""

from datetime import datetime, timedelta, timezone
from types import SimpleNamespace

import pytest

from sidecypher_procedures.github import errors, lists
from sidecypher_procedures.github.graphql import Error, GraphqlRequest, _partial, failure
from sidecypher_procedures.github.model import Kind, Target
from sidecypher_procedures.github.options import IssueSearchOptions, RawOptions
from sidecypher_procedures.github.raw import graphql_request, rest_request

EAST = timezone(timedelta(hours=2))


def test_no_comment_of_a_query_is_sent() -> None:
    """Another lexer may end a comment elsewhere, and would read a mutation behind it."""
    hidden = '{ a } #\rquery b { a(s: """\nmutation { x }\n# """) }'

    asked = graphql_request(hidden, {}, RawOptions(), "b")

    assert asked.document == '{a}query b{a(s:"""mutation { x }\n# """)}'


def test_a_time_is_sent_in_utc() -> None:
    """GitHub takes the same moment, whatever the offset of the value."""
    given = {"since": datetime(2026, 1, 2, 1, 30, tzinfo=EAST)}

    assert rest_request("/x", given).path == "/x?since=2026-01-01T23%3A30%3A00Z"


@pytest.mark.parametrize(
    "given",
    [datetime(2026, 1, 2), datetime(1, 1, 1, tzinfo=EAST)],  # noqa: DTZ001 - a LOCAL DATETIME
    ids=["without an offset", "before the first year in UTC"],
)
@pytest.mark.parametrize("in_list", [False, True])
def test_a_time_that_is_no_moment_in_utc_is_refused(given, in_list) -> None:
    """Nothing is guessed."""
    with pytest.raises(errors.InvalidRequest, match="`since`"):
        rest_request("/x", {"since": [given] if in_list else given})


@pytest.mark.parametrize(
    "path",
    [
        "/repos/octo%63at/Hello-World/tags",
        "/%72epos/octocat/%48ello-World",
        "/repos/octocat%2FHello-World",
    ],
)
def test_an_encoded_name_is_that_repository(path) -> None:
    """So that `github.invalidate` and webhooks drop its answers."""
    assert rest_request(path, {}).home == "/repos/octocat/hello-world"


def test_no_path_has_the_key_of_a_query() -> None:
    """Otherwise `github.rest` would return the answer to a query."""
    asked = GraphqlRequest.of("{ a }", b"{}", None)

    # The path of a resource always begins with a slash.
    assert not asked.path.startswith("/")
    assert asked.key == f"/{asked.path}"


def search(query: str) -> object:
    """Begin a search without a client."""
    return lists.search_rows(
        SimpleNamespace(resource=lambda _: None), lists.FOUND_ISSUES, query, IssueSearchOptions()
    )


def test_a_search_is_as_long_as_its_url() -> None:
    """A character may take twelve bytes there; the cursor has it too."""
    with pytest.raises(errors.InvalidRequest, match="bytes"):
        search("🙂" * 1_000)
    search("a" * 4_000)


@pytest.mark.parametrize("kind", ["EXCESSIVE_PAGINATION", "MAX_NODE_LIMIT_EXCEEDED", "OTHER"])
def test_a_mistake_of_the_caller_is_not_tried_again(kind) -> None:
    """GitHub names the type of an error that the same query always has."""
    asked = GraphqlRequest.of("{ a }", b"{}", None)
    mistake = Error(type=kind)

    for error in (
        failure(asked, mistake),
        failure(Target(Kind.ISSUE, "o", "r", 7), mistake),
        _partial(asked, {"a": None}, [Error(type="NOT_FOUND"), Error(), mistake]),
    ):
        assert isinstance(error, errors.Rejected)
        assert not error.retryable


def test_an_error_without_a_type_is_githubs() -> None:
    """It is transient, even next to one of something that does not exist."""
    asked = GraphqlRequest.of("{ a }", b"{}", None)

    found = _partial(asked, {"a": None}, [Error(type="NOT_FOUND"), Error()])

    assert isinstance(found, errors.ServerFailed)
