"""Which of the values that a text mentions it says no to."""

from collections.abc import Collection, Sequence

from sidecypher_procedures.rules.detector.scanning import Mark


def negated(marks: Sequence[Mark], mentions: Collection[int]) -> dict[int, bool] | None:
    """Tell for each mention whether it is negated.

    Saying no twice is still no ("never, never"); a verb that says no, negated, is a yes ("do not
    skip"). What stands behind the last mention counts for all of them ("emojis are not allowed").

    Args:
        marks: The text without its conditions.
        mentions: Places in `marks` where a value is mentioned.

    Returns:
        Whether each is negated; None when the text says no to something unknown behind them, or
        before another verb: "do not evr use emojis" may be one statement or two.
    """
    found: dict[int, bool] = {}
    parted = _parted(marks)
    no = content = False
    last = max(mentions, default=-1)
    for place, mark in enumerate(marks[: last + 1]):
        roles = mark.entry.roles
        if place in mentions:
            found[place] = no
            content = True
        elif "neutral" in roles or "break" in roles:
            no = content = False
        elif roles & {"not", "less"}:
            no, content = True, False
        elif "avoid" in roles or place == parted:
            no, content = not no or content, False
        elif found and ("contrast" in roles or (mark.text == "to" and _prefers(marks[:place]))):
            no, content = True, False
        elif "verb" in roles:
            if no and content and not found:
                return None
            no = no and not content
        else:
            content = content or not mark.known
    behind = _behind(marks[last + 1 :])
    if behind is None:
        return None
    return {place: no or behind for place, no in found.items()}


def _prefers(marks: Sequence[Mark]) -> bool:
    return any(mark.text in {"prefer", "prefers"} for mark in marks)


def _behind(marks: Sequence[Mark]) -> bool | None:
    no = says = False
    for mark in marks:
        roles = mark.entry.roles
        if "not" in roles:
            no = True
        elif roles & {"avoid", "predicate"}:
            says = True
        elif no and not says and (not mark.known or mark.entry.values):
            return None
    return no != says


def _parted(marks: Sequence[Mark]) -> int | None:
    """Find the verb of "leave comments out", which says no although its object stands inside."""
    verb = None
    for place, mark in enumerate(marks):
        if "separable" in mark.entry.roles:
            verb = place
        elif "particle" in mark.entry.roles and verb is not None and place > verb + 1:
            return verb
    return None
