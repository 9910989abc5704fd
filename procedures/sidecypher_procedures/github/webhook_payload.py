"""What a delivery of GitHub's says, and the proof that GitHub sent it."""

import hmac
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qs

import msgspec

from sidecypher_procedures.github.errors import InvalidWebhook
from sidecypher_procedures.github.model import Extent

SIGNATURE_HEADER: Final = "x-hub-signature-256"

_SCHEME: Final = b"sha256="


def is_signed(key: bytes, body: bytes, signature: str) -> bool:
    """Tell whether a signature is that of these very bytes.

    The signature is the header `X-Hub-Signature-256`; that of SHA-1 proves nothing any more.

    Example:
        >>> is_signed(b"secret", b"{}", "sha256=" + hmac.digest(b"secret", b"{}", "sha256").hex())
        True
    """
    expected = _SCHEME + hmac.digest(key, body, "sha256").hex().encode()
    # Bytes: of texts, `compare_digest` takes ASCII only. Headers are Latin-1.
    return hmac.compare_digest(expected, signature.encode("latin-1", "replace"))


JSON: Final = "application/json"
FORM: Final = "application/x-www-form-urlencoded"

_KEPT: Final = ("action", "number", "changes", "sender", "repository", "issue", "pull_request")
"""What the graph is told of a payload; a push may have 25 MB of commits beside it."""

_SUITES: Final = ("check_run", "check_suite", "workflow_run")

_EXTENTS: Final = {
    "push": Extent.PULL_REQUESTS,
    **dict.fromkeys(
        ("branch_protection_rule", "label", "milestone", "public", "repository"), Extent.ALL
    ),
}
"""Events that change what is in a repository without naming it: a push may make any pull request
one that cannot be merged."""

Payload = Mapping[str, Any]


class Address(NamedTuple):
    """What a delivery is about.

    Attributes:
        number: That of an issue or pull request; None for the repository itself.
        extent: What in the repository it is about too.
    """

    owner: str
    repo: str
    number: int | None = None
    extent: Extent = Extent.ITSELF


def media_type(content_type: str) -> str:
    """Return the type without its parameters.

    Example:
        >>> media_type("Application/JSON; charset=utf-8")
        'application/json'
    """
    return content_type.partition(";")[0].strip().lower()


def read_body(body: bytes, content_type: str) -> Payload:
    """Return the payload of a request's body, whose signature was checked.

    Raises:
        InvalidWebhook: It is none.
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
    """Return the payload of its JSON text.

    Raises:
        InvalidWebhook: It is no JSON object.

    Example:
        >>> read_payload('{"action": "opened"}')
        {'action': 'opened'}
    """
    try:
        payload = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise InvalidWebhook("The payload of the webhook is no JSON") from None
    if not isinstance(payload, dict):
        raise InvalidWebhook("The payload of the webhook is no JSON object")
    return payload


def excerpt(payload: Payload) -> bytes:
    """Return, as JSON, what of a payload the graph is told."""
    return msgspec.json.encode({name: payload[name] for name in _KEPT if name in payload})


def part(json: object, *names: str) -> Any:
    """Return what is found by following the names, or None.

    Example:
        >>> part({"sender": {"login": "octocat"}}, "sender", "login")
        'octocat'
    """
    for name in names:
        json = json.get(name) if isinstance(json, dict) else None
    return json


def name_of(event: str, payload: Payload) -> str:
    """Return the event with its action, as GitHub's pages write it.

    Example:
        >>> name_of("issues", {"action": "opened"}), name_of("push", {})
        ('issues.opened', 'push')
    """
    action = payload.get("action")
    return f"{event}.{action}" if isinstance(action, str) else event


def addresses(event: str, payload: Payload) -> set[Address]:
    """Return what a delivery says has changed, by the names it has and those it had."""
    return {
        address
        for address in _addresses(event, payload)
        if isinstance(address.owner, str)
        and isinstance(address.repo, str)
        and isinstance(address.number, int | None)
    }


def _addresses(event: str, payload: Payload) -> Iterator[Address]:
    owner, repo = part(payload, "repository", "owner", "login"), part(payload, "repository", "name")
    # Whatever happens in it, the repository counts: its stars, its open issues, its last push.
    yield Address(owner, repo, extent=_EXTENTS.get(event, Extent.ITSELF))
    things = [part(payload, "issue"), part(payload, "pull_request")]
    for suite in _SUITES:
        pulls = part(payload, suite, "pull_requests")
        things += pulls if isinstance(pulls, list) else []
    for thing in things:
        if (number := part(thing, "number")) is not None:
            yield Address(owner, repo, number)
    yield from _transferred(payload)
    if event == "repository":
        yield Address(
            owner, part(payload, "changes", "repository", "name", "from"), extent=Extent.ALL
        )
        for kind in ("user", "organization"):
            before = part(payload, "changes", "owner", "from", kind, "login")
            yield Address(before, repo, extent=Extent.ALL)


def _transferred(payload: Payload) -> Iterator[Address]:
    """Yield the other end of an issue's transfer."""
    for beside, thing in (("new_repository", "new_issue"), ("old_repository", "old_issue")):
        if (number := part(payload, "changes", thing, "number")) is not None:
            full_name = str(part(payload, "changes", beside, "full_name"))
            owner, _, repo = full_name.partition("/")
            yield Address(owner, repo)
            yield Address(owner, repo, number)
