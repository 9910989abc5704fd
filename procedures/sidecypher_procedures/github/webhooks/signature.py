"""The lock of the webhooks: the signature that GitHub makes with the secret both sides know."""

import hmac
from typing import Final

HEADER: Final = "x-hub-signature-256"

_SCHEME: Final = b"sha256="


def is_signed(key: bytes, body: bytes, signature: str) -> bool:
    """Tell whether a signature is that of these very bytes.

    Args:
        key: The secret.
        body: What was posted, byte by byte.
        signature: The header `X-Hub-Signature-256`; that of SHA-1 proves nothing any more.

    Example:
        >>> is_signed(b"secret", b"{}", "sha256=" + hmac.digest(b"secret", b"{}", "sha256").hex())
        True
    """
    expected = _SCHEME + hmac.digest(key, body, "sha256").hex().encode()
    # Bytes: of texts, `compare_digest` takes ASCII only. Headers are Latin-1.
    return hmac.compare_digest(expected, signature.encode("latin-1", "replace"))
