"""Reading the MAPs that Cypher passes: unknown keys are refused by name, and so is a wrong type."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, TypeVar, cast, get_args

from sidecypher import ProcedureError

_SHOWABLE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,39}")
LONGEST_NAME: Final = 200
"""Characters of what is a name or an id, unless something else is said."""

T = TypeVar("T")


class Fields:
    """The fields of one MAP; a null counts as not given.

    Args:
        values: The MAP.
        noun: What it describes, for the texts of errors, such as ``rule``.
        known: The keys it may have.
        error: The class of its errors.

    Raises:
        ProcedureError: It has an unknown key.

    Example:
        >>> from sidecypher_procedures.rules.errors import InvalidRule
        >>> Fields({"user": "ann"}, "rule", ("user", "text"), InvalidRule).text("user")
        'ann'
    """

    def __init__(
        self,
        values: Mapping[str, Any],
        noun: str,
        known: tuple[str, ...],
        error: type[ProcedureError],
    ) -> None:
        self._noun, self._error = noun, error
        for name in values:
            if name not in known:
                shown = f"`{name}`" if _SHOWABLE.fullmatch(name) else "of that name"
                article = "An" if noun[0] in "aeiou" else "A"
                raise error(
                    f"{article} {noun} has no key {shown}", hint=f"Known: {', '.join(known)}."
                )
        self._given = {name: value for name, value in values.items() if value is not None}

    def __contains__(self, name: str) -> bool:
        return name in self._given

    def refuse(self, what: str, hint: str) -> ProcedureError:
        """Make the error that tells what is wrong with the MAP."""
        return self._error(f"The {self._noun} {what}", hint=hint)

    def text(self, name: str, default: str = "", *, longest: int = LONGEST_NAME) -> str:
        """Return a STRING of at most `longest` characters, without the space around it."""
        value = self._given.get(name, default)
        if not isinstance(value, str):
            raise self.refuse(f"has a `{name}` that is no STRING", "Give a STRING.")
        text = value.strip()
        if len(text) > longest:
            raise self.refuse(
                f"has a `{name}` of {len(text)} characters", f"Give at most {longest}."
            )
        return text

    def verbatim(self, name: str) -> str | None:
        """Return a STRING exactly as it was given, or None."""
        value = self._given.get(name)
        if value is not None and not isinstance(value, str):
            raise self.refuse(f"has a `{name}` that is no STRING", "Give a STRING.")
        return value

    def identifier(self, name: str) -> str | None:
        """Return an id exactly as it was given, or None."""
        value = self.verbatim(name)
        if value is not None:
            self._check_id(name, value)
        return value

    def identifiers(self, name: str, *, most: int) -> list[str]:
        """Return a LIST of at most `most` ids, empty when it is not given."""
        values = self.texts(name, most=most)
        for value in values:
            self._check_id(name, value)
        return values

    def _check_id(self, name: str, value: str) -> None:
        if not value.strip() or len(value) > LONGEST_NAME:
            raise self.refuse(
                f"has an id of {len(value)} characters in `{name}`",
                f"Give 1 to {LONGEST_NAME}, not only space.",
            )

    def required_text(self, name: str) -> str:
        """Return a STRING that must be there and not be empty."""
        text = self.text(name)
        if not text:
            raise self.refuse(f"lacks `{name}`", f"Give `{name}`, a STRING.")
        return text

    def choice(
        self, name: str, choices: object, default: T, synonyms: Mapping[str, T] | None = None
    ) -> T:
        """Return one of the values of a `Literal`, or the default when it is not given."""
        if name not in self._given:
            return default
        given, allowed = self._given[name], get_args(choices)
        value = (synonyms or {}).get(given, given) if isinstance(given, str) else given
        if value not in allowed:
            told = ", ".join(f"'{choice}'" for choice in allowed)
            raise self.refuse(f"has an unknown `{name}`", f"Give one of {told}.")
        return cast("T", value)

    def flag(self, name: str) -> bool:
        """Return a BOOLEAN, false when it is not given."""
        value = self._given.get(name, False)
        if not isinstance(value, bool):
            raise self.refuse(f"has a `{name}` that is no BOOLEAN", "Give true or false.")
        return value

    def fraction(self, name: str) -> float | None:
        """Return a number from 0 to 1, or None when it is not given."""
        value = self._given.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise self.refuse(f"has a `{name}` outside of 0 to 1", "Give a number such as 0.8.")
        return float(value)

    def count(self, name: str, default: int, *, largest: int, smallest: int = 1) -> int:
        """Return an INTEGER from `smallest` to `largest`."""
        value = self._given.get(name, default)
        if type(value) is not int or not smallest <= value <= largest:
            raise self.refuse(
                f"has a `{name}` outside of {smallest} to {largest}", "Give an INTEGER."
            )
        return value

    def instant(self, name: str) -> datetime | None:
        """Return a ZONED DATETIME, or None when it is not given."""
        value = self._given.get(name)
        if value is not None and not (isinstance(value, datetime) and value.tzinfo is not None):
            raise self.refuse(
                f"has a `{name}` that is no ZONED DATETIME of the years 1 to 9999",
                "Give one, such as datetime('2026-01-31T12:00Z').",
            )
        return value

    def maps(self, name: str) -> list[dict[str, Any]]:
        """Return a LIST of MAPs, empty when it is not given."""
        value = self._given.get(name, [])
        if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
            raise self.refuse(f"has a `{name}` that is no LIST<MAP>", "Give a list of maps.")
        return value

    def is_map(self, name: str) -> bool:
        """Tell whether it is a MAP."""
        return isinstance(self._given.get(name), dict)

    def map(self, name: str) -> dict[str, Any]:
        """Return a MAP, empty when it is not given."""
        value = self._given.get(name, {})
        if not isinstance(value, dict):
            raise self.refuse(f"has a `{name}` that is no MAP", "Give a map.")
        return value

    def texts(self, name: str, *, most: int) -> list[str]:
        """Return a LIST of at most `most` STRINGs, empty when it is not given."""
        value = self._given.get(name, [])
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise self.refuse(f"has a `{name}` that is no LIST<STRING>", "Give a list of strings.")
        if len(value) > most:
            raise self.refuse(f"has {len(value)} `{name}`", f"Give at most {most}.")
        return value

    def span(self, name: str) -> list[int] | None:
        """Return two offsets, the second not before the first; None when it is not given."""
        value = self._given.get(name)
        if value is None:
            return None
        if not _is_span(value):
            raise self.refuse(
                f"has a `{name}` that is no pair of offsets",
                "Give [start, end], end not before start.",
            )
        return cast("list[int]", value)


def shown_id(identifier: str) -> str:
    """Return an id as an error may show it: ids are the caller's own, and could be anything."""
    return identifier if len(identifier) <= _LONGEST_ID and identifier.isprintable() else "..."


_LONGEST_ID: Final = 100


def _is_span(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2  # noqa: PLR2004 - a span has two ends
        and all(isinstance(each, int) and not isinstance(each, bool) for each in value)
        and 0 <= value[0] <= value[1]
    )
