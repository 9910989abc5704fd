"""Asking a model about what the detector does not know."""

from typing import Any, Protocol


class Judge(Protocol):
    """What says whether two rules contradict each other: an NLI model, or a language model.

    It is called outside of any transaction, so it may take its time. What it suspects is recorded
    with its score, and makes a rule `contested (suspected)` at most.

    Example:
        >>> def judge(text, other_text):
        ...     return {"score": 0.9, "model": "some-model", "reason": "opposite wishes"}
    """

    def __call__(self, text: str, other_text: str, /) -> dict[str, Any] | None:
        """Compare two rules.

        Args:
            text: One rule, in its author's words.
            other_text: The other one.

        Returns:
            `score` from 0 to 1, `model` and `reason`; None when it suspects nothing.
        """


def judgements(rows: list[dict[str, Any]], judge: Judge) -> list[dict[str, Any]]:
    """Return what a judge suspects, as `rules.suspect` takes it.

    Args:
        rows: The rows of `rules.unknown`.
        judge: Whom to ask about each of them.

    Raises:
        Exception: Whatever the judge raises.
    """
    asked = [(row, judge(row["text"], row["otherText"])) for row in rows]
    return [{"otherId": row["otherId"], **found} for row, found in asked if found is not None]
