"""`github.rest` and `github.graphql`: what they send, what they return and what they refuse."""

import asyncio
import json
from urllib.parse import parse_qs, urlsplit

import graphql as graphql_core
import pytest
from fix_graphql import Graph

from sidecypher.errors import CallError
from sidecypher.testing import ProcedureEnvironment
from sidecypher_procedures.github.procedures import graphql, invalidate, rest

TOKEN = "ghp_secretsecretsecretsecretsecret000000"
TAGS = "/repos/o/r/tags"
SENT = 'query($owner:String!){repository(owner:$owner name:"r"){nameWithOwner}}'
TITLE = 'query($owner: String!) { repository(owner: $owner, name: "r") { nameWithOwner } }'


@pytest.fixture
def origin(github, monkeypatch):
    """Give the stand-in, configured as the sidecar's GitHub."""
    monkeypatch.setenv("SIDECYPHER_GITHUB_BASE_URL", github.url)
    monkeypatch.setenv("SIDECYPHER_GITHUB_TOKEN", TOKEN)
    return github


@pytest.fixture
def call():
    """Give a call in a sidecar of the test's own: its rows."""
    with ProcedureEnvironment(rest, graphql, invalidate) as environment:

        def rows(name, first, second=None, options=None):
            return environment.call(f"github.{name}", first, second or {}, options or {})

        yield rows


@pytest.fixture
def paged(origin, answering):
    """Give what has the stand-in answer with these pages, each linked to the next."""

    def answer(*pages):
        def page(request):
            number = int(parse_qs(urlsplit(request.path).query).get("page", ["1"])[0])
            link = f'<{origin.url}/repositories/1/x?page={number + 1}>; rel="next"'
            found = pages[number - 1]
            if not isinstance(found, list):
                return found
            return answering.of(found, **({"Link": link} if number < len(pages) else {}))

        origin.answer = page

    return answer


def values(rows):
    return [row["value"] for row in rows]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ([{"name": "a"}, {"name": "b"}], [{"name": "a"}, {"name": "b"}]),
        ([], []),
        (["MIT", None, 7], [{"result": "MIT"}, {"result": None}, {"result": 7}]),
        ({"name": "a", "list": [1]}, [{"name": "a", "list": [1]}]),
        ({"total_count": 9, "incomplete_results": False, "items": [{"id": 1}]}, [{"id": 1}]),
        ({"total_count": 1, "workflow_runs": [{"id": 1}, {"id": 2}]}, [{"id": 1}, {"id": 2}]),
        (
            {"total_count": 1, "statuses": [1], "url": "u"},
            [{"total_count": 1, "statuses": [1], "url": "u"}],
        ),
        ({"": None, "a": {"b": None}}, [{"": None, "a": {"b": None}}]),
        ({}, [{}]),
        (None, [{"result": None}]),
        ("text", [{"result": "text"}]),
    ],
)
def test_a_list_is_a_row_for_each_entry(origin, answering, call, body, expected) -> None:
    """A list, or the only list next to a `total_count`, is its entries; all else is one row."""
    origin.answer = lambda _: answering.of(body)

    rows = call("rest", TAGS)

    assert values(rows) == expected
    assert all(row["fetchedAt"] and not row["stale"] and row["error"] is None for row in rows)
    assert [request.headers["authorization"] for request in origin.requests] == [f"Bearer {TOKEN}"]


def test_parameters_become_the_query(origin, answering, call) -> None:
    """Values are percent-encoded, lists joined by commas, and nulls left out."""
    origin.answer = lambda _: answering.of([])

    params = {
        "q": "a&b=c #d",
        "s": "longRunning",
        "labels": ["x", "y z"],
        "draft": True,
        "n": 2**40,
        "no": None,
    }
    call("rest", "/repos/o/r/contents/a b%2Fc/ü.txt", params)

    [path] = origin.paths
    assert path.partition("?")[0] == "/repos/o/r/contents/a%20b%2Fc/%C3%BC.txt"
    assert parse_qs(urlsplit(path).query) == {
        "q": ["a&b=c #d"],
        "s": ["longRunning"],
        "labels": ["x,y z"],
        "draft": ["true"],
        "n": [str(2**40)],
    }


@pytest.mark.parametrize(
    "case",
    [
        (None, [1, 2], 1),
        (0, [], 0),
        (1, [1], 1),
        (2, [1, 2], 1),
        (3, [1, 2, 3], 2),
        (9, [1, 2, 3], 3),
    ],
)
def test_further_pages_are_read_up_to_a_limit(origin, paged, call, case) -> None:
    """Without `limit` a call reads one page; with it, as many as it needs."""
    limit, expected, requests = case
    paged([{"id": 1}, {"id": 2}], [{"id": 3}], [])

    rows = call("rest", TAGS, {}, {"limit": limit})

    assert [value["id"] for value in values(rows)] == expected
    assert len(origin.requests) == requests


def test_answers_are_kept_by_path_parameters_and_age(origin, paged, call) -> None:
    """A page is not requested again within `maxAge`, then by its ETag; an invalidation drops it."""
    paged([{"id": 1}], [{"id": 2}])
    for _ in range(2):
        assert len(call("rest", TAGS, {}, {"limit": 5})) == 2
    assert len(origin.requests) == 2

    call("rest", TAGS, {"per_page": 7}, {"limit": 1})
    assert len(origin.requests) == 3
    with ProcedureEnvironment(rest, invalidate) as environment:
        environment.call("github.rest", "/repos/O/r/tags")
        environment.call("github.rest", "/repos/O/r/tags")
        assert environment.call("github.invalidate", "o", "R", None) == [{"dropped": 1}]
        environment.call("github.rest", "/repos/O/r/tags")
    assert len(origin.requests) == 5


def test_an_unchanged_answer_is_confirmed_by_its_etag(origin, answering, call) -> None:
    """A 304 gives the rows that are kept, with a later `fetchedAt`."""
    origin.answer = lambda asked: (
        answering(304)
        if asked.headers.get("if-none-match") == '"a"'
        else answering.of([{"id": 1}], ETag='"a"')
    )

    first, second = (call("rest", TAGS, {}, {"maxAge": 0}) for _ in range(2))

    assert values(first) == values(second) == [{"id": 1}]
    assert first[0]["fetchedAt"] < second[0]["fetchedAt"]
    assert len(origin.requests) == 2


def test_an_expired_answer_is_given_while_github_fails(origin, answering, call) -> None:
    """With `stale` true, as entities are."""
    origin.answer = lambda _: answering.of({"id": 1})
    call("rest", TAGS)
    origin.answer = lambda _: answering(502)

    [row] = call("rest", TAGS, {}, {"maxAge": 0})

    assert (row["value"], row["stale"]) == ({"id": 1}, True)


def test_an_expired_answer_does_not_hide_that_one_is_not_ready(origin, answering, call) -> None:
    """Who waits for statistics is told that GitHub computes them (202)."""
    origin.answer = lambda _: answering.of({"id": 1})
    call("rest", TAGS)
    origin.answer = lambda _: answering(202, body=b"{}")

    with pytest.raises(CallError) as caught:
        call("rest", TAGS, {}, {"maxAge": 0})

    assert caught.value.code == "SC-522"


@pytest.mark.parametrize("limit", [None, 5])
def test_success_without_a_body_is_one_empty_map(origin, answering, call, limit) -> None:
    """204 is how GitHub says yes, such as whether somebody is a collaborator; 404 is no row."""
    path = "/repos/o/r/collaborators/octocat"
    origin.answer = lambda _: answering(204)
    assert values(call("rest", path, {}, {"limit": limit})) == [{}]

    origin.answer = lambda _: answering(404, body=b"{}")
    assert call("rest", path, {}, {"limit": limit, "maxAge": 0}) == []
    [row] = call("rest", path, {}, {"maxAge": 0, "onError": "null"})
    assert row["error"]["message"] == f"GitHub knows no path `{path}`"


DEEP = b'{"a":' * 300 + b"1" + b"}" * 300


@pytest.mark.parametrize(
    "case",
    [
        (200, b"", "SC-511"),
        (200, b"<html>secret</html>", "SC-511"),
        (200, b'[{"secret": 1', "SC-511"),
        (200, b'[{"secret": 9223372036854775808}]', "SC-511"),
        (200, DEEP, "SC-511"),
        (200, b"[" * 100_000 + b"]" * 100_000, "SC-511"),
        (200, b'{"secret": "' + b"x" * 10_000_000 + b'"}', "SC-511"),
        (202, b"{}", "SC-522"),
        (304, b"", "SC-513"),
        (400, b'{"message": "secret"}', "SC-513"),
        (401, b'{"message": "secret"}', "SC-505"),
        (403, b'{"message": "secret"}', "SC-506"),
        (422, b'{"message": "secret"}', "SC-524"),
        (500, b"secret", "SC-508"),
    ],
)
def test_what_github_answers_otherwise_is_a_typed_error(origin, answering, call, case) -> None:
    """The error has a code, and nothing of the answer or the token in its text."""
    status, body, code = case
    origin.answer = lambda _: answering(status, body=body)

    with pytest.raises(CallError) as caught:
        call("rest", TAGS)

    assert caught.value.code == code
    assert "secret" not in f"{caught.value} {caught.value.hint} {caught.value.details}"
    assert call("rest", TAGS, {}, {"onError": "skip"}) == []


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63), 1.5, 10**400])
def test_numbers_are_as_cypher_has_them(origin, answering, call, number) -> None:
    """What 64 bits hold comes as it is; what they do not hold makes the answer unusable."""
    origin.answer = lambda _: answering.of({"n": number})

    if number == 10**400:
        with pytest.raises(CallError, match="64 bits"):
            call("rest", TAGS)
    else:
        assert values(call("rest", TAGS)) == [{"n": number}]


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "repos/o/r",
        "//evil.example/x",
        "/repos//r",
        "/repos/o/r/",
        "https://evil.example/repos/o/r",
        "@evil.example",
        ":8080/x",
        "/repos/../user",
        "/repos/o/r/.",
        "/repos/%2e%2E/user",
        "/repos/o%2f..%2fuser",
        "/repos/..%5c",
        "/repos\\o",
        "/repos/o/r?page=2",
        "/repos/o/r#x",
        "/repos/o/r\r\nX: y",
        "/repos/o\0",
        "/repos/%00",
        "/repos/%0d%0aX",
        "/repos/100%",
        "/repos/\ud800",
        "/" + "x" * 2_000,
        "/" + "x" * 1_000_000,
    ],
)
def test_a_path_outside_of_the_api_is_refused(origin, call, path) -> None:
    """Before anything is sent, whatever `onError`."""
    with pytest.raises(CallError) as caught:
        call("rest", path, {}, {"onError": "null"})

    assert caught.value.code in {"SC-523", "SC-215"}
    assert origin.requests == []


@pytest.mark.parametrize(
    "params",
    [
        {"a b": 1},
        {"": 1},
        {"a&b": 1},
        {"x" * 65: 1},
        {"a": {"b": 1}},
        {"a": [[1]]},
        {"a": "x" * 7_000},
    ],
)
def test_parameters_that_no_url_can_have_are_refused(origin, call, params) -> None:
    """Before anything is sent."""
    with pytest.raises(CallError) as caught:
        call("rest", TAGS, params)

    assert caught.value.code == "SC-523"
    assert origin.requests == []


@pytest.mark.parametrize("status", [301, 302, 307])
def test_a_redirect_to_another_origin_is_refused(origin, stranger, answering, call, status) -> None:
    """Neither the token nor a request goes there; on the same origin it is followed."""
    origin.answer = lambda _: answering(status, {"Location": f"{stranger.url}/zip"})
    with pytest.raises(CallError) as caught:
        call("rest", "/repos/o/r/zipball/main")
    assert (caught.value.code, stranger.requests) == ("SC-512", [])

    origin.answer = lambda asked: (
        answering.of({"id": 1})
        if asked.path == "/repositories/1"
        else answering(status, {"Location": "/repositories/1"})
    )
    assert values(call("rest", "/repos/o/old")) == [{"id": 1}]


@pytest.mark.parametrize("link", ["{other}/x", "http://a:b@{host}/x"])
def test_a_next_page_elsewhere_is_refused(origin, stranger, answering, call, link) -> None:
    """A `Link` leads to the configured origin, or nowhere."""
    url = link.format(other=stranger.url, host=urlsplit(origin.url).netloc)
    origin.answer = lambda _: answering.of([{"id": 1}], Link=f'<{url}>; rel="next"')

    with pytest.raises(CallError) as caught:
        call("rest", TAGS, {}, {"limit": 10})

    assert (caught.value.code, stranger.requests) == ("SC-512", [])


@pytest.mark.parametrize("status", [404, 410, 500])
def test_a_page_that_fails_is_not_the_end(paged, answering, call, status) -> None:
    """What was before it is given; then comes an error, a row with it, or nothing more."""
    paged([{"id": 1}], answering(status, body=b"{}"))

    with pytest.raises(CallError):
        call("rest", TAGS, {}, {"limit": 10})
    assert len(call("rest", TAGS, {}, {"limit": 10, "onError": "skip"})) == 1
    first, last = call("rest", TAGS, {}, {"limit": 10, "onError": "null"})
    assert (first["value"], last["value"]) == ({"id": 1}, None)
    assert last["error"]["details"] == {"status": status}


def test_a_list_that_never_ends_is_an_error(origin, answering, call) -> None:
    """A page that is its own next one is requested once."""
    link = f'<{origin.url}{TAGS}>; rel="next"'
    origin.answer = lambda _: answering.of([{"id": 1}], Link=link)

    with pytest.raises(CallError, match="never ends"):
        call("rest", TAGS, {}, {"limit": 10})
    assert len(origin.requests) == 1


def test_the_limit_of_searches_stops_searches_only(origin, answering, call) -> None:
    """GitHub counts them apart: other paths are still requested."""
    spent = {"X-RateLimit-Remaining": "0", "X-RateLimit-Resource": "search"}
    origin.answer = lambda asked: (
        answering(403, spent, b"{}") if asked.path.startswith("/search/") else answering.of([])
    )

    for _ in range(2):
        with pytest.raises(CallError) as caught:
            call("rest", "/search/issues", {"q": "a"}, {"timeout": 1})
        assert caught.value.code == "SC-507"
    assert call("rest", TAGS) == []
    assert [path.partition("?")[0] for path in origin.paths] == ["/search/issues", TAGS]


# GraphQL


@pytest.fixture
def schema(origin, answering, github_schema):
    """A GitHub whose GraphQL API knows the repository `o/r`, by its own schema."""
    found = {"/repos/o/r": {"full_name": "o/r", "name": "r"}}
    graph = Graph(github_schema, found.get)
    origin.asked = []

    def answer(request):
        asked = json.loads(request.body)
        origin.asked.append(asked)
        return answering.of(graph.answer(*map(asked.get, ("query", "variables", "operationName"))))

    origin.answer = answer
    return origin


def test_a_query_is_one_row_with_its_data(schema, call) -> None:
    """It is sent by POST to `/graphql` with its variables, and kept like a page."""
    for _ in range(2):
        rows = call("graphql", TITLE, {"owner": "o"})

        assert values(rows) == [{"repository": {"nameWithOwner": "o/r"}}]
    assert [(each.method, each.path) for each in schema.requests] == [("POST", "/graphql")]
    assert schema.asked == [{"query": SENT, "variables": {"owner": "o"}}]
    call("graphql", TITLE, {"owner": "o"}, {"maxAge": 0})
    assert len(schema.requests) == 2


def test_a_query_is_not_parsed_on_the_event_loop(schema, call, monkeypatch) -> None:
    """A long one would hold up all other calls."""
    parse, loops = graphql_core.parse, []

    def parsed(*arguments, **options):
        loops.append(asyncio._get_running_loop())
        return parse(*arguments, **options)

    monkeypatch.setattr(graphql_core, "parse", parsed)
    call("graphql", TITLE, {"owner": "o"})

    assert loops == [None]


def test_what_a_query_does_not_find_is_no_row(schema, call) -> None:
    """As with a path; with onError 'null' it is a row with the error."""
    assert call("graphql", TITLE, {"owner": "nobody"}) == []
    [row] = call("graphql", TITLE, {"owner": "nobody"}, {"onError": "null", "maxAge": 0})
    assert (row["value"], row["error"]["code"]) == (None, "SC-503")


def test_one_of_several_operations_is_chosen_by_name(schema, call) -> None:
    """Without a name, a document must have exactly one."""
    both = f"query b {{ viewer {{ login }} }} {TITLE.replace('query', 'query a')}"

    rows = call("graphql", both, {"owner": "o"}, {"operationName": "a"})

    assert values(rows) == [{"repository": {"nameWithOwner": "o/r"}}]
    assert schema.asked[0]["operationName"] == "a"
    for name in (None, "c"):
        with pytest.raises(CallError) as caught:
            call("graphql", both, {"owner": "o"}, {"operationName": name})
        assert caught.value.code == "SC-523"


@pytest.mark.parametrize(
    "document",
    [
        "",
        "   # nothing",
        "mutation { addStar(input: {starrableId: 1}) { clientMutationId } }",
        "subscription { x }",
        "query a { viewer { login } } mutation b { x }",
        "{ viewer { login } } #\nmutation { x }",
        '{ a(b: """ }\n""") } mutation { x }',
        "\ufeffmutation { x }",
        "extend type Query { a: Int }",
        "fragment f on User { login }",
        "{ viewer { login }",
        "not a query",
        "{" * 20_000,
        "{ a " * 3_000 + "}" * 3_000,
        "{ " + "a " * 20_000 + "}",
        "x" * 1_000_000,
        "{ a(b: \ud800) }",
    ],
)
def test_only_queries_are_sent(schema, call, document) -> None:
    """A mutation, a subscription or a text that is no query is refused before it is sent."""
    for options in ({"onError": "null"}, {"operationName": "a"}):
        with pytest.raises(CallError) as caught:
            call("graphql", document, {}, options)
        assert caught.value.code in {"SC-523", "SC-215"}
    assert schema.requests == []


@pytest.mark.parametrize("inner", ['"mutation { x }"', '"""\nmutation\n"""'])
def test_a_text_in_a_query_is_no_mutation(schema, call, inner) -> None:
    """The document is parsed, not searched for words."""
    document = (
        f'query mutation($o: String = {inner}) {{ repository(owner: $o, name: "r") {{ id }} }}'
    )

    assert call("graphql", document) == []
    assert len(schema.requests) == 1


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ({"errors": [{"message": "secret", "extensions": {"code": "undefinedField"}}]}, "SC-515"),
        ({"data": {"a": None}, "errors": [{"type": "FORBIDDEN", "message": "secret"}]}, "SC-506"),
        ({"data": None, "errors": [{"type": "FORBIDDEN", "message": "secret"}]}, "SC-506"),
        ({"errors": [{"type": "INSUFFICIENT_SCOPES", "message": "secret"}]}, "SC-506"),
        ({"errors": [{"type": "the secret", "message": "secret"}]}, "SC-515"),
        ({"data": {"a": 1}, "errors": [{"type": "NOT_FOUND", "path": ["b"]}]}, "SC-524"),
        ({"data": {"a": 1}, "errors": [{"message": "secret"}]}, "SC-508"),
        ({"data": None, "errors": [{"type": "RATE_LIMITED", "message": "secret"}]}, "SC-507"),
        ({"message": "secret"}, "SC-510"),
        ([], "SC-511"),
        ({"data": {"n": 2**63}}, "SC-511"),
    ],
)
def test_an_error_of_graphql_is_a_typed_error(origin, answering, call, answer, code) -> None:
    """A part of the data is not passed off as the whole, and no message of GitHub's is quoted."""
    origin.answer = lambda _: answering.of(answer)

    with pytest.raises(CallError) as caught:
        call("graphql", "{ viewer { login } }", {}, {"timeout": 2})

    assert caught.value.code == code
    assert "secret" not in f"{caught.value} {caught.value.hint} {caught.value.details}"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ({"type": "MAX_NODE_LIMIT_EXCEEDED", "path": ["query"]}, "MAX_NODE_LIMIT_EXCEEDED"),
        ({"extensions": {"code": "undefinedField"}}, "undefinedField"),
    ],
)
def test_a_refused_query_has_the_reason_of_github(origin, answering, call, error, reason) -> None:
    """A query may be refused although it fits the schema, so the error has GitHub's reason."""
    origin.answer = lambda _: answering.of({"errors": [{**error, "message": "secret"}]})

    with pytest.raises(CallError, match=f"as a whole: `{reason}`$") as caught:
        call("graphql", "{ viewer { login } }")
    assert "limits" in caught.value.hint


def test_further_pages_of_a_query_are_read_up_to_a_limit(origin, answering, call) -> None:
    """A query with `$endCursor` gets the end of the page before, as with GitHub's `gh`."""

    def answer(request):
        after = json.loads(request.body)["variables"].get("endCursor")
        number = int(after or 0) + 1
        info = {"hasNextPage": number < 3, "endCursor": str(number)}
        return answering.of({"data": {"a": {"nodes": [number], "pageInfo": info}}})

    origin.answer = answer
    query = "query($endCursor: String) { a(after: $endCursor) { nodes } }"

    rows = call("graphql", query, {}, {"limit": 9})

    assert [value["a"]["nodes"] for value in values(rows)] == [[1], [2], [3]]
    assert len(call("graphql", query, {}, {"limit": 2})) == 2
    assert len(call("graphql", query)) == 1
    assert len(origin.requests) == 3
    with pytest.raises(CallError, match="endCursor"):
        call("graphql", "{ viewer { login } }", {}, {"limit": 2})


def test_graphql_needs_a_token(origin, call, monkeypatch) -> None:
    """Without one GitHub has no GraphQL API, and nothing is sent."""
    monkeypatch.delenv("SIDECYPHER_GITHUB_TOKEN")

    with pytest.raises(CallError) as caught:
        call("graphql", "{ viewer { login } }")

    assert (caught.value.code, origin.requests) == ("SC-502", [])
