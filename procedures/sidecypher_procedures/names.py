"""Names and ids as callers give them, and as errors show them."""

from typing import Annotated, Final

from pydantic import Field, StringConstraints

LONGEST_NAME: Final = 200
"""Characters of a name or an id."""

Id = Annotated[str, Field(max_length=LONGEST_NAME, pattern=r"\S")]
"""An id, kept exactly as it was given; not only space."""

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
    """Return an id as an error may show it: ids are the caller's own, and could be anything."""
    return identifier if len(identifier) <= _LONGEST_SHOWN and identifier.isprintable() else "..."
