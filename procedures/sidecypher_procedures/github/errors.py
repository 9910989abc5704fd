"""Every error of the `github` procedures, in one tree.

The transient ones (RateLimited, ServerFailed, Unreachable, TimedOut, NotReady) are retryable. An
expired cache entry is served in their place, except in that of NotReady.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar, Final

from sidecypher import ProcedureError

_SHOWN: Final = "[redacted]"
_SECRETS: Final = re.compile(
    # Tokens of installations are long and have dots.
    r"gh[a-z]_[A-Za-z0-9._-]+"
    r"|github_pat_\w+"
    # The rest of the line: a scheme, and what follows it.
    r"|(?i:\b(?:proxy-)?authorization\b[^\r\n]*)"
    r"|(?i:\bbearer\s+[^\s\"',;]+)"
    # A truncated block is a secret up to the end of the text.
    r"|-----BEGIN [A-Z0-9 ]+-----(?:.*?-----END [A-Z0-9 ]+-----|.*)",
    re.DOTALL,
)


def redacted(text: str) -> str:
    """Return the text without tokens, authorization headers and PEM blocks.

    Example:
        >>> redacted("it wants ghp_0123456789abcdef")
        'it wants [redacted]'
    """
    return _SECRETS.sub(_SHOWN, text)


def redacted_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with all texts redacted.

    Example:
        >>> redacted_values({"status": 403, "wants": "Bearer abc"})
        {'status': 403, 'wants': '[redacted]'}
    """
    return {
        name: redacted(value) if isinstance(value, str) else value for name, value in values.items()
    }


class GithubError(ProcedureError):
    """Base of all errors of the `github` procedures.

    Attributes:
        transient: Whether the same request may succeed later without a change.
        always_raised: Whether `onError` cannot hide it: the caller or the operator has to fix it.

    Example:
        >>> raise NotFound("GitHub knows no issue `o/r#7`", details={"status": 404})
        Traceback (most recent call last):
        ...
        sidecypher_procedures.github.errors.NotFound: GitHub knows no issue `o/r#7`
    """

    code = "SC-500"
    transient: ClassVar[bool] = False
    always_raised: ClassVar[bool] = False

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        # A name, an option or a header may hold a secret by mistake or malice.
        super().__init__(
            redacted(message),
            hint=hint if hint is None else redacted(hint),
            retryable=self.transient,
            details=details if details is None else redacted_values(details),
        )


class InvalidName(GithubError):
    """An owner, repository or number cannot be one; raised before anything is sent."""

    code = "SC-501"
    always_raised = True


class InvalidOption(GithubError):
    """GraphQL without a token, or a cursor of another list; raised before anything is sent."""

    code = "SC-502"
    always_raised = True


def no_token(what: str) -> InvalidOption:
    """Return the error for something that needs GitHub's GraphQL API when there is no token."""
    return InvalidOption(
        f"{what}: GitHub's GraphQL API needs a token",
        hint="Set SIDECYPHER_GITHUB_TOKEN, or use the REST API.",
    )


class NotFound(GithubError):
    """The entity does not exist on GitHub, or the token cannot see it."""

    code = "SC-503"
    default_hint = "Check the name; what is private needs a token that may read it."


class Gone(GithubError):
    """The entity was deleted, or the issues of a repository are switched off."""

    code = "SC-504"


class BadCredentials(GithubError):
    """GitHub does not accept the token."""

    code = "SC-505"
    default_hint = "Set SIDECYPHER_GITHUB_TOKEN to a valid token and restart the sidecar."


class PermissionDenied(GithubError):
    """The token is valid, but lacks a permission."""

    code = "SC-506"
    default_hint = "Give the token the permission it lacks, or use another token."


class RateLimited(GithubError):
    """GitHub answers no more requests for now; `details` holds `resetAt`."""

    code = "SC-507"
    transient = True

    @property
    def reset_at(self) -> datetime:
        """Time at which GitHub may answer again."""
        return datetime.fromisoformat(self.details["resetAt"])


class ServerFailed(GithubError):
    """GitHub failed with a 5xx status, or inside a GraphQL query without a type of error."""

    code = "SC-508"
    transient = True
    default_hint = "Try again later."


class Unreachable(GithubError):
    """There was no connection to GitHub, or it broke before the answer was complete."""

    code = "SC-509"
    transient = True
    default_hint = "Check the network and SIDECYPHER_GITHUB_BASE_URL."


class TimedOut(GithubError):
    """GitHub did not answer in the time given."""

    code = "SC-510"
    transient = True
    default_hint = "Try again later, or give the option `timeout` more seconds."


class UnusableAnswer(GithubError):
    """GitHub's answer is not JSON, is cut off, empty or too large, or has another shape."""

    code = "SC-511"
    default_hint = "Check that SIDECYPHER_GITHUB_BASE_URL is the base of GitHub's REST API."


class RedirectRefused(GithubError):
    """A redirect or a list's next page is on another origin, or there are too many redirects."""

    code = "SC-512"
    default_hint = "Check SIDECYPHER_GITHUB_BASE_URL: the token is never sent to another origin."


class UnexpectedStatus(GithubError):
    """GitHub answered with a status that it does not document for these requests."""

    code = "SC-513"


class GithubSettingsError(GithubError):
    """A setting that starts with SIDECYPHER_GITHUB_ is unknown or cannot be used."""

    code = "SC-514"
    always_raised = True
    default_hint = "Correct the setting and restart the sidecar."


class GraphqlRefused(GithubError):
    """GitHub refused a GraphQL query as a whole, or has no GraphQL: an Enterprise Server may."""

    code = "SC-515"
    default_hint = "Give the option `api` the value 'rest'."


class CredentialRevoked(GithubError):
    """GitHub accepted this token before and no longer does: it was revoked, or has expired."""

    code = "SC-520"
    default_hint = (
        "Put a new token into the file of SIDECYPHER_GITHUB_TOKEN_FILE, which is then read again; "
        "a new SIDECYPHER_GITHUB_TOKEN needs a restart of the sidecar."
    )


class AppRefused(GithubError):
    """GitHub returns no token for the installation of the GitHub App."""

    code = "SC-521"
    default_hint = (
        "Check SIDECYPHER_GITHUB_APP_ID, SIDECYPHER_GITHUB_APP_INSTALLATION_ID and the key, and "
        "restart the sidecar."
    )


class NotReady(GithubError):
    """GitHub accepted the request and is still computing the answer, such as statistics (202)."""

    code = "SC-522"
    transient = True
    default_hint = "Call again in a few seconds."


class InvalidRequest(GithubError):
    """A path, a parameter or a GraphQL document cannot be sent; raised before anything is sent."""

    code = "SC-523"
    always_raised = True


class Rejected(GithubError):
    """GitHub rejects the request: by 422, or by the type of an error in a GraphQL answer."""

    code = "SC-524"
    default_hint = "Compare the query or the parameters with GitHub's documentation."


class NotAnIssue(GithubError):
    """A pull request was to be merged as an issue; nothing was written."""

    code = "SC-525"
    default_hint = "Call `github.mergePullRequest` instead."


class InvalidWebhook(GithubError):
    """The argument is not the payload of a webhook."""

    code = "SC-530"
    default_hint = "Give the JSON text that GitHub posts."


class WebhooksUnstored(GithubError):
    """The file in which deliveries of webhooks wait for the graph cannot be read or written."""

    code = "SC-531"
    transient = True
    default_hint = (
        "Make room for `webhooks.sqlite` in the home, or move the file away if it is damaged."
    )
