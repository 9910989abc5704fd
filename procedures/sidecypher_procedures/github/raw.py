"""Any GET of GitHub's REST API and any query of its GraphQL API, checked before they are sent."""

import re
from collections.abc import AsyncIterator, Mapping
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote, urlencode

import msgspec

from sidecypher import Context
from sidecypher_procedures.github import errors, rows
from sidecypher_procedures.github.client import GithubClient
from sidecypher_procedures.github.graphql import END_CURSOR, GraphqlRequest
from sidecypher_procedures.github.model import Resource, name_key
from sidecypher_procedures.github.options import RawOptions, parameter

if TYPE_CHECKING:
    from graphql import OperationDefinitionNode

# GitHub and proxies accept URLs of 8 kB.
_LONGEST_PATH: Final = 2_000
_LONGEST_QUERY: Final = 6_000
_LONGEST_NAME: Final = 200
_LONGEST_DOCUMENT: Final = 100_000
_MOST_TOKENS: Final = 10_000
_CONTROLS: Final = r"\x00-\x1f\x7f-\x9f\ud800-\udfff"
_PATH: Final = re.compile(rf"(?:/[^/?#\\{_CONTROLS}]+)+")
_DECODED: Final = re.compile(rf"[^\\{_CONTROLS}]+")
_NO_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_KEPT: Final = "/%:@!$&'()*+,;=~"
_PARAMETER: Final = re.compile(r"[A-Za-z0-9_.\[\]-]{1,64}")
_SCALARS: Final = (str, int, float, datetime, date)


def rest_request(path: str, params: Mapping[str, Any]) -> Resource:
    """Return the request for a path of the REST API.

    Raises:
        InvalidRequest: The path is not below the API, or a parameter cannot be in a URL.

    Example:
        >>> rest_request("/repos/octocat/Hello-World/tags", {"per_page": 5}).path
        '/repos/octocat/Hello-World/tags?per_page=5'
    """
    if not _is_path(path):
        raise errors.InvalidRequest(
            "The argument `path` is not a path of GitHub's REST API",
            hint="Give a path such as '/repos/octocat/Hello-World/tags', without a host, `..` or "
            f"`?`, at most {_LONGEST_PATH} characters; parameters go into the next argument.",
        )
    encoded = quote(path, safe=_KEPT)
    query = urlencode(
        {name: _value(name, given) for name, given in params.items() if given is not None}
    )
    if len(query) > _LONGEST_QUERY:
        raise errors.InvalidRequest(
            f"The argument `params` is longer than {_LONGEST_QUERY} bytes in a URL"
        )
    # As GitHub reads it, so that an encoded name cannot escape an invalidation.
    _, *parts = unquote(path).split("/")
    home = name_key(*parts[1:3]) if parts[0] == "repos" and len(parts) > 2 else ""  # noqa: PLR2004
    return Resource("path", _shortened(encoded), home, f"{encoded}?{query}" if query else encoded)


def _is_path(path: str) -> bool:
    if len(path) > _LONGEST_PATH or not _PATH.fullmatch(path) or _NO_ESCAPE.search(path):
        return False
    decoded = unquote(path)
    return _DECODED.fullmatch(decoded) is not None and not {".", ".."} & set(decoded.split("/"))


def _shortened(path: str) -> str:
    return path if len(path) <= _LONGEST_NAME else f"{path[:_LONGEST_NAME]}..."


def _value(name: str, given: object) -> str:
    if not _PARAMETER.fullmatch(name):
        raise errors.InvalidRequest(
            "A name in `params` cannot be a parameter of GitHub's REST API",
            hint="Names have 1 to 64 letters, digits, `_`, `-`, `.`, `[` or `]`.",
        )
    items = given if isinstance(given, list) else [given]
    if not all(isinstance(item, _SCALARS) for item in items):
        raise errors.InvalidRequest(
            f"The parameter `{name}` cannot be in a URL",
            hint="Give a STRING, a number, a BOOLEAN, a date or time, or a list of these.",
        )
    if any(isinstance(item, datetime) and item.tzinfo is None for item in items):
        raise errors.InvalidRequest(
            f"The time in the parameter `{name}` has no time zone",
            hint="Give a ZONED DATETIME, such as datetime('2026-01-02T03:04:05Z').",
        )
    try:
        # A text is sent as it is; `parameter` spells the values of options as GitHub does.
        return ",".join(item if isinstance(item, str) else parameter(item) for item in items)
    except OverflowError:
        raise errors.InvalidRequest(
            f"The time in the parameter `{name}` is in a year that UTC does not have"
        ) from None


def graphql_request(
    document: str, variables: Mapping[str, Any], options: RawOptions, operation: str | None
) -> GraphqlRequest:
    """Return the request for a GraphQL document that only reads.

    It sends the tokens that were checked, without comments, whose end parsers see differently.

    Raises:
        InvalidRequest: The document cannot be parsed, has a mutation or a subscription, or does
            not have the operation; or a variable has no form in JSON.
    """
    # Imported late: it takes 0.14 seconds, and no other procedure needs it.
    from graphql import strip_ignored_characters  # noqa: PLC0415

    chosen = _operation(document, operation)
    declared = {each.variable.name.value for each in chosen.variable_definitions or ()}
    if (options.limit or 0) > 1 and END_CURSOR not in declared:
        raise errors.InvalidRequest(
            "The option `limit` needs a query with the variable `$endCursor`",
            hint="Declare `$endCursor: String`, pass it to a connection as `after`, and read "
            "`pageInfo { hasNextPage endCursor }` of that connection.",
        )
    name = None if chosen.name is None else chosen.name.value
    return GraphqlRequest.of(strip_ignored_characters(document), _encoded(variables), name)


def _operation(document: str, wanted: str | None) -> "OperationDefinitionNode":
    from graphql import (  # noqa: PLC0415
        FragmentDefinitionNode,
        GraphQLError,
        OperationDefinitionNode,
        OperationType,
        parse,
    )

    if len(document) > _LONGEST_DOCUMENT:
        raise errors.InvalidRequest(
            f"The GraphQL query is longer than {_LONGEST_DOCUMENT} characters"
        )
    try:
        definitions = parse(document, no_location=True, max_tokens=_MOST_TOKENS).definitions
    except GraphQLError as error:
        place = "".join(f" at line {at.line}, column {at.column}" for at in error.locations or ())
        # `from None`: the original quotes the document.
        raise errors.InvalidRequest(f"The GraphQL query cannot be parsed{place}") from None
    except (RecursionError, UnicodeError):
        raise errors.InvalidRequest("The GraphQL query is nested too deeply or not text") from None
    operations = [each for each in definitions if isinstance(each, OperationDefinitionNode)]
    if len(operations) < sum(not isinstance(each, FragmentDefinitionNode) for each in definitions):
        raise errors.InvalidRequest("The GraphQL query defines types, which GitHub does not take")
    if any(each.operation is not OperationType.QUERY for each in operations):
        raise errors.InvalidRequest(
            "The GraphQL query has a mutation or a subscription, and `github.graphql` only reads",
            hint="Leave the operation out, even if it would not be the one that runs.",
        )
    found = [
        each
        for each in operations
        if wanted is None or (each.name is not None and each.name.value == wanted)
    ]
    if len(found) != 1:
        raise errors.InvalidRequest(
            f"The GraphQL query has {len(found)} operations to choose from",
            hint="If it has several, give the name of one of them as option `operationName`.",
        )
    return found[0]


def _encoded(variables: Mapping[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(variables, order="sorted")
    except (TypeError, ValueError, RecursionError):
        raise errors.InvalidRequest(
            "A variable of the GraphQL query has no form in JSON",
            hint="Give strings, numbers, booleans, dates, times, and lists and maps of these.",
        ) from None


async def raw_rows(
    ctx: Context, first: Resource, options: RawOptions
) -> AsyncIterator[rows.RawValue]:
    """Yield what a request returns, and with the option `limit` what its next pages return.

    An error is raised, hidden or becomes a row, as `on_error` says.
    """
    client = ctx.resource(GithubClient)
    page: Resource | None = first
    left = options.limit
    visited: set[str] = set()
    try:
        while page is not None and left != 0:
            if page.key in visited:
                raise errors.UnusableAnswer(f"GitHub's list for the {first.what} never ends")
            visited.add(page.key)
            answer = await _answer(client, page, first, options, options.wait(ctx.deadline))
            for value in answer.values[:left]:
                yield rows.RawValue(
                    value=value, fetched_at=answer.fetched_at, stale=answer.stale, error=None
                )
            page = None
            if left is not None:
                left = max(0, left - len(answer.values))
                page = first.at(answer.next) if answer.next is not None else None
    except errors.GithubError as error:
        ctx.log.debug("github.no_row", code=error.code)
        row = rows.instead(rows.RawValue, error, options.on_error)
        if row is not None:
            yield row


async def _answer(
    client: GithubClient, page: Resource, first: Resource, options: RawOptions, wait: float
) -> rows.RawAnswer:
    try:
        found = await client.answer(page, max_age=options.max_age, wait=wait)
    except (errors.NotFound, errors.Gone) as error:
        if page is first:
            raise
        # A missing later page must look neither like the end nor like a missing list.
        raise errors.UnexpectedStatus(
            f"GitHub's list for the {first.what} ended while it was read", details=error.details
        ) from error
    answer: rows.RawAnswer = found.row.decode()
    return answer
