"""Addresses that a person gives: what keeps one from being used."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import SplitResult, urlsplit

_NO_ADDRESS: Final = "its host or its port cannot be one"

_URI_SCHEMES: Final = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")


def problem_of_server(uri: str) -> str | None:
    """Tell why a driver could not use a URI, or would take it for another than it says.

    Of a port beyond 65535 the driver uses what is left modulo 65536.
    """
    parts = _parts(uri)
    if not uri or parts is None:
        return _NO_ADDRESS if uri else None
    more = (
        parts.path.strip("/") or parts.fragment or (parts.scheme.startswith("bolt") and parts.query)
    )
    return _first_that_holds(
        {
            "it has a space or a control character": " " in uri or not uri.isprintable(),
            f"its scheme is not one of {', '.join(_URI_SCHEMES)}": parts.scheme not in _URI_SCHEMES,
            "user and password have their own settings": "@" in parts.netloc,
            "it names no host": not parts.hostname,
            "its port is 0": parts.port == 0,
            "it has more than a scheme, a host and a port": bool(more),
        }
    )


def problem_of_mirror(url: str) -> str | None:
    """Tell why jars could not be fetched from a URL, or where its password ends is not certain."""
    parts = _parts(url)
    if not url or parts is None:
        return _NO_ADDRESS if url else None
    user, at, _ = parts.netloc.rpartition("@")
    return _first_that_holds(
        {
            "it has a space or a control character": " " in url or not url.isprintable(),
            "its scheme is neither http nor https": parts.scheme not in ("http", "https"),
            "it names no host": not parts.hostname,
            "an `@` that does not end user and password is written `%40`": url.count("@") > len(at),
            "no user stands before its `@`": bool(at) and not user,
            "it has more than a scheme, a host, a port and a path": bool(
                parts.query or parts.fragment
            ),
        }
    )


def _parts(url: str) -> SplitResult | None:
    """Return the parts of a URL, None where its host or its port cannot be one."""
    try:
        parts = urlsplit(url)
        (parts.hostname or "").encode("idna")
        _ = parts.port
    except ValueError:
        return None
    return parts


def _first_that_holds(problems: Mapping[str, bool]) -> str | None:
    return next((problem for problem, is_so in problems.items() if is_so), None)
