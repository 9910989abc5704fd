"""Payload and signature of a webhook delivery from GitHub."""

import hmac
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qs

import msgspec

from sidecypher_procedures.github.entities import nested
from sidecypher_procedures.github.errors import InvalidWebhook
from sidecypher_procedures.github.model import Extent

SIGNATURE_HEADER: Final = "x-hub-signature-256"

_SCHEME: Final = b"sha256="


def is_signed(key: bytes, body: bytes, signature: str) -> bool:
    """Return whether a signature matches the bytes of a request.

    The signature is the header `X-Hub-Signature-256`. SHA-1 is not secure and is not accepted.

    Example:
        >>> is_signed(b"secret", b"{}", "sha256=" + hmac.digest(b"secret", b"{}", "sha256").hex())
        True
    """
    expected = _SCHEME + hmac.digest(key, body, "sha256").hex().encode()
    # Bytes, since `compare_digest` accepts only ASCII texts, and headers are Latin-1.
    return hmac.compare_digest(expected, signature.encode("latin-1", "replace"))


JSON: Final = "application/json"
FORM: Final = "application/x-www-form-urlencoded"

_KEPT: Final = frozenset(
    "action number changes sender repository issue pull_request comment".split()
)
"""Fields of a payload that are kept for the graph; a push may also have 25 MB of commits."""

_SUITES: Final = ("check_run", "check_suite", "workflow_run")

_EXTENTS: Final = {
    "push": Extent.PULL_REQUESTS,
    **dict.fromkeys(
        ("branch_protection_rule", "label", "milestone", "public", "repository"), Extent.ALL
    ),
}
"""Events that change other things in a repository without naming them. For example, a push may
make any pull request unmergeable."""

Payload = Mapping[str, Any]


class Address(NamedTuple):
    """The subject of a delivery.

    Attributes:
        number: The number of an issue or pull request; None for the repository itself.
        extent: How much of the repository's content is a subject too.
    """

    owner: str
    repo: str
    number: int | None = None
    extent: Extent = Extent.ITSELF


def media_type(content_type: str) -> str:
    """Return the media type without its parameters.

    Example:
        >>> media_type("Application/JSON; charset=utf-8")
        'application/json'
    """
    return content_type.partition(";")[0].strip().lower()


def read_body(body: bytes, content_type: str) -> Payload:
    """Return the payload of a request's body. The signature must be checked before.

    Raises:
        InvalidWebhook: The body is not a payload.
    """
    if media_type(content_type) == FORM:
        return read_payload(_field(body))
    return read_payload(body)


def _field(form: bytes) -> str:
    try:
        fields = parse_qs(form.decode("latin-1"), max_num_fields=10, errors="strict")
    except ValueError:
        raise InvalidWebhook("The form of the webhook cannot be read") from None
    return fields.get("payload", [""])[0]


def read_payload(text: str | bytes) -> Payload:
    """Return the payload from its JSON text.

    Raises:
        InvalidWebhook: It is not a JSON object.

    Example:
        >>> read_payload('{"action": "opened"}')
        {'action': 'opened'}
    """
    try:
        payload = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise InvalidWebhook("The payload of the webhook is not JSON") from None
    if not isinstance(payload, dict):
        raise InvalidWebhook("The payload of the webhook is not a JSON object")
    return payload


def excerpt(payload: Payload) -> bytes:
    """Return the fields of a payload that are kept for the graph, as JSON."""
    return msgspec.json.encode({name: payload[name] for name in payload if name in _KEPT})


def name_of(event: str, payload: Payload) -> str:
    """Return the event with its action, in GitHub's notation.

    Example:
        >>> name_of("issues", {"action": "opened"}), name_of("push", {})
        ('issues.opened', 'push')
    """
    action = payload.get("action")
    return f"{event}.{action}" if isinstance(action, str) else event


def addresses(event: str, payload: Payload) -> set[Address]:
    """Return the changed subjects of a delivery, by their current and former names."""
    return {
        address
        for address in _addresses(event, payload)
        if isinstance(address.owner, str)
        and isinstance(address.repo, str)
        and isinstance(address.number, int | None)
    }


def _addresses(event: str, payload: Payload) -> Iterator[Address]:
    owner, repo = (
        nested(payload, "repository", "owner", "login"),
        nested(payload, "repository", "name"),
    )
    # Every event may change the repository: its stars, its open issues, its last push.
    yield Address(owner, repo, extent=_EXTENTS.get(event, Extent.ITSELF))
    things = [nested(payload, "issue"), nested(payload, "pull_request")]
    for suite in _SUITES:
        pulls = nested(payload, suite, "pull_requests")
        things += pulls if isinstance(pulls, list) else []
    for thing in things:
        if (number := nested(thing, "number")) is not None:
            yield Address(owner, repo, number)
    yield from _transferred(payload)
    if event == "repository":
        yield Address(
            owner, nested(payload, "changes", "repository", "name", "from"), extent=Extent.ALL
        )
        for kind in ("user", "organization"):
            before = nested(payload, "changes", "owner", "from", kind, "login")
            yield Address(before, repo, extent=Extent.ALL)


def _transferred(payload: Payload) -> Iterator[Address]:
    """Yield the other end of an issue's transfer."""
    for beside, thing in (("new_repository", "new_issue"), ("old_repository", "old_issue")):
        if (number := nested(payload, "changes", thing, "number")) is not None:
            full_name = str(nested(payload, "changes", beside, "full_name"))
            owner, _, repo = full_name.partition("/")
            yield Address(owner, repo)
            yield Address(owner, repo, number)


def identifier(number: object) -> str | None:
    """Return an id of GitHub as the graph has it.

    Example:
        >>> identifier(1296269), identifier(None)
        ('1296269', None)
    """
    return None if number is None else str(number)
