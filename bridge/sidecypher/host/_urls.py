"""Validation of addresses in settings."""

from collections.abc import Collection
from urllib.parse import urlsplit


def problem_of(url: str, schemes: Collection[str], *, is_mirror: bool) -> str | None:
    """Return why an address cannot be used or would be misread, or None.

    A mirror may have a user, a password and a path; a server may not.
    """
    try:
        parts = urlsplit(url)
        (parts.hostname or "").encode("idna")
        # The driver takes a port above 65535 modulo 65536.
        port = parts.port
    except ValueError:
        return "its host or its port cannot be one"
    user, at, _ = parts.netloc.rpartition("@")
    has_query = bool(parts.query) and not parts.scheme.startswith("neo4j")
    has_path = not is_mirror and bool(parts.path.strip("/"))
    whole = "a scheme, a host, a port and a path" if is_mirror else "a scheme, a host and a port"
    problems = {
        "it has a space or a control character": " " in url or not url.isprintable(),
        f"its scheme is not one of {', '.join(schemes)}": parts.scheme not in schemes,
        "user and password have their own settings": bool(at) and not is_mirror,
        "an `@` that does not end user and password is written `%40`": is_mirror
        and url.count("@") > len(at),
        "no user stands before its `@`": bool(at) and not user,
        "it names no host": not parts.hostname,
        "its port is 0": port == 0,
        f"it has more than {whole}": has_path or has_query or bool(parts.fragment),
    }
    return next((problem for problem, is_so in problems.items() if is_so), None)
