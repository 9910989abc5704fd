"""What makes a run's history evident: a digest of each event, which holds those of its parents."""

import hashlib
import json
from collections.abc import Iterable
from typing import Any


def canonical(value: Any) -> str:
    """Return JSON in which equal values are equal texts.

    Raises:
        TypeError: It has a value that JSON does not have.
        ValueError: It has a number that JSON does not have.

    Example:
        >>> canonical({"b": 1, "a": [None, "ä"]})
        '{"a":[null,"ä"],"b":1}'
    """
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def sha256(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def chained(content_digest: str, seq: int, parent_digests: Iterable[str]) -> str:
    """Return the digest of an event at its place.

    Args:
        content_digest: The digest of what its caller gave.
        seq: Its place in the run.
        parent_digests: Those of its parents, in any order.
    """
    return sha256(canonical([content_digest, seq, sorted(parent_digests)]))
