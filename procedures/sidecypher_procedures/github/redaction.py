"""Secrets in texts that somebody else wrote, made unreadable."""

import re
from collections.abc import Mapping
from typing import Any, Final

_SHOWN: Final = "[redacted]"
_SECRETS: Final = re.compile(
    # Tokens of installations are long and have dots.
    r"gh[a-z]_[A-Za-z0-9._-]+"
    r"|github_pat_\w+"
    # The rest of the line: a scheme, and what follows it.
    r"|(?i:\b(?:proxy-)?authorization\b[^\r\n]*)"
    r"|(?i:\bbearer\s+[^\s\"',;]+)"
    # A block that was cut off is a secret to its end.
    r"|-----BEGIN [A-Z0-9 ]+-----(?:.*?-----END [A-Z0-9 ]+-----|.*)",
    re.DOTALL,
)


def redacted(text: str) -> str:
    """Return the text without tokens, headers that carry them, and PEM blocks.

    Example:
        >>> redacted("it wants ghp_0123456789abcdef")
        'it wants [redacted]'
    """
    return _SECRETS.sub(_SHOWN, text)


def redacted_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same values, with those that are texts redacted.

    Example:
        >>> redacted_values({"status": 403, "wants": "Bearer abc"})
        {'status': 403, 'wants': '[redacted]'}
    """
    return {
        name: redacted(value) if isinstance(value, str) else value for name, value in values.items()
    }
