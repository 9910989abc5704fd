"""Names that are valid in Python, Cypher and Java."""

import re
from typing import Final

from sidecypher.errors import SignatureError

RESERVED_NAMESPACES: Final = frozenset(
    "abac builtin cdc coll date datetime db dbms duration graph internal localdatetime localtime "
    "math plugin point stored string time tx unsupported vector".split()
)
"""First parts of names that Neo4j 5.26 refuses or has announced to refuse."""

_LONGEST: Final = 200
"""Most characters of a procedure's name, which becomes the name of a file."""

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*(\.[A-Za-z][A-Za-z0-9]*)+\Z")
_CAMEL_CASE_NAME: Final = re.compile(r"[a-z][A-Za-z0-9]*(\.[a-z][A-Za-z0-9]*)+\Z")
_IDENTIFIER: Final = re.compile(r"[a-z][A-Za-z0-9]*\Z")

_JAVA_WORDS: Final = frozenset(
    "abstract assert boolean break byte case catch char class const continue default do double "
    "else enum extends final finally float for goto if implements import instanceof int interface "
    "long native new package private protected public return short static strictfp super switch "
    "synchronized this throw throws transient try void volatile while true false null".split()
)
_RECORD_METHODS: Final = frozenset(
    "clone finalize getClass hashCode notify notifyAll toString wait".split()
)


def camel_case(name: str) -> str:
    """Return a snake_case name as Cypher writes it.

    Example:
        >>> camel_case("element_id")
        'elementId'
    """
    head, *rest = name.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


def check_procedure_name(name: str) -> str:
    """Return `name` if it is a valid name of a procedure.

    Args:
        name: Namespace and name, such as `kg.score`.

    Raises:
        SignatureError: The name has no namespace, another character than letters and digits, a
            Java keyword as a part, or a reserved namespace; or it is too long.
    """
    if not _NAME.match(name) or len(name) > _LONGEST:
        raise SignatureError(
            f"`{repr(name[:_LONGEST])[1:-1]}` is not a procedure name",
            hint="Write a namespace, a dot and a name of letters and digits, such as `kg.score`: "
            f"{_LONGEST} characters at most.",
        )
    parts = name.split(".")
    if parts[0] in RESERVED_NAMESPACES:
        raise SignatureError(
            f"`{name}` is in the namespace `{parts[0]}`, which Neo4j keeps for itself",
            hint="Choose your own namespace.",
        )
    for part in parts:
        if part in _JAVA_WORDS:
            raise SignatureError(
                f"`{name}` holds the Java keyword `{part}`", hint="Choose another word."
            )
    return name


def check_name(name: object, decorator: str) -> str:
    """Return `name` if it is valid for what Neo4j does not see, such as a step of a session.

    Args:
        name: Two or more camelCase words with dots between them, such as `analyze.sentiment`.
        decorator: Name of the decorator that the error tells of.

    Raises:
        SignatureError: It is not such a name, or the decorator was used without one.
    """
    if not isinstance(name, str) or not _CAMEL_CASE_NAME.match(name) or len(name) > _LONGEST:
        raise SignatureError(
            f"`@{decorator}` was given a name that is not valid",
            hint=f'Write `@{decorator}("kg.score")`, say: camelCase words with dots between them, '
            f"{_LONGEST} characters at most.",
        )
    return name


def is_parameter_name(cypher: str) -> bool:
    """Return whether a parameter may have this name in Cypher."""
    return _IDENTIFIER.match(cypher) is not None


def is_column_name(cypher: str) -> bool:
    """Return whether a column may have this name, which becomes a component of a Java record."""
    return is_parameter_name(cypher) and cypher not in _JAVA_WORDS | _RECORD_METHODS
