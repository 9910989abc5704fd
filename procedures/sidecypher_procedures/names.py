"""Types of names and ids in arguments, and the form in which errors show an id."""

from typing import Annotated, Final

from pydantic import Field, StringConstraints

LONGEST_NAME: Final = 200
"""The most characters of a name or an id."""

Id = Annotated[str, Field(max_length=LONGEST_NAME, pattern=r"\S")]
"""An id, kept exactly as given. It has at least one character that is not a space."""

Name = Annotated[str, StringConstraints(strip_whitespace=True, max_length=LONGEST_NAME)]
"""A name, without the space around it."""

_LONGEST_SHOWN: Final = 100


def is_id(value: str) -> bool:
    """Return whether a text can be an id.

    Example:
        >>> is_id("r1"), is_id(" ")
        (True, False)
    """
    return bool(value.strip()) and len(value) <= LONGEST_NAME


def shown_id(identifier: str) -> str:
    """Return an id that is safe in an error text: callers choose ids, so they may be anything."""
    return identifier if len(identifier) <= _LONGEST_SHOWN and identifier.isprintable() else "..."
