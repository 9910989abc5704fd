"""What a script assumes or asserts about the server, in comments before its first statement.

The form is that of the Java tool neo4j-migrations (its class `Precondition`)::

    // assume that edition is community
    // assert that version is ge 5.26
    // assume q' RETURN true
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, assert_never

from sidecypher_schema.errors import BadScript

_ANY: Final = re.compile(r"(?P<kind>assume|assert)(?: in \w+)? (?:that\b|q').*", re.IGNORECASE)
_EDITION: Final = re.compile(r"\w+ that edition is (?P<value>community|enterprise)", re.IGNORECASE)
_VERSION: Final = re.compile(
    r"\w+ that version is (?:(?P<than>lt|ge) )?"
    r"(?P<value>\d+(?:\.\d+)*(?:(?: or |, *)\d+(?:\.\d+)*)*)",
    re.IGNORECASE,
)
_QUERY: Final = re.compile(r"\w+ q'\s*(?P<value>\S.*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Server:
    """What preconditions ask about.

    Attributes:
        version: Such as `5.26.29`.
        edition: `community` or `enterprise`.
    """

    version: str
    edition: str


@dataclass(frozen=True, slots=True)
class Precondition:
    """One line.

    Attributes:
        kind: Without what is assumed a script is skipped; without what is asserted nothing runs.
        about: What it looks at.
        value: An edition, versions with `,` between them, or a query that gives true or false.
        than: For a version, `lt` (lower than) or `ge` (the same or higher); empty for one of them.
        text: The line.
    """

    kind: Literal["assume", "assert"]
    about: Literal["edition", "version", "query"]
    value: str
    than: str
    text: str


def read_preconditions(header: Iterable[tuple[int, str]], file: str) -> tuple[Precondition, ...]:
    """Return what the comments at the head of a script demand.

    Args:
        header: Lines without `//`, each with its number.
        file: Name of the script, for errors.

    Raises:
        BadScript: A line begins like a precondition and is none.

    Example:
        >>> read_preconditions([(1, "assume that version is 5.26, 2026")], "V1__a.cypher")[0].value
        '5.26,2026'
    """
    return tuple(
        _read(found, f"`{file}`, line {line}")
        for line, text in header
        if (found := _ANY.fullmatch(text))
    )


def _read(line: re.Match[str], where: str) -> Precondition:
    text = line[0]
    kind: Literal["assume", "assert"] = "assume" if line["kind"].lower() == "assume" else "assert"
    if found := _EDITION.fullmatch(text):
        return Precondition(kind, "edition", found["value"].lower(), "", text)
    if found := _VERSION.fullmatch(text):
        versions = re.sub(r" or |, *", ",", found["value"], flags=re.IGNORECASE)
        than = (found["than"] or "").lower()
        if not than or "," not in versions:
            return Precondition(kind, "version", versions, than, text)
    if found := _QUERY.fullmatch(text):
        return Precondition(kind, "query", found["value"], "", text)
    raise BadScript(
        f"`{text}` in {where}, is no precondition",
        hint="Write `that edition is community`, `that version is 5.26`, `that version is ge 5.26`"
        " or `q' RETURN ...` behind assume or assert.",
    )


def fits(precondition: Precondition, server: Server) -> bool:
    """Return whether a server is what a precondition about edition or version demands.

    Example:
        >>> [line] = read_preconditions([(1, "assert that version is ge 5.9")], "V1__a.cypher")
        >>> fits(line, Server("5.26.1", "community"))
        True
    """
    match precondition.about:
        case "edition":
            return server.edition.lower() == precondition.value
        case "version":
            return _fits_version(precondition, _numbers(server.version))
        case "query":
            raise ValueError("only a graph answers a query")
        case _:
            assert_never(precondition.about)


def _fits_version(precondition: Precondition, actual: tuple[int, ...]) -> bool:
    wanted = [_numbers(version) for version in precondition.value.split(",")]
    match precondition.than:
        case "lt":
            return actual < wanted[0]
        case "ge":
            return actual >= wanted[0]
        case _:
            return any(actual[: len(each)] == each for each in wanted)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version.partition("-")[0]))
