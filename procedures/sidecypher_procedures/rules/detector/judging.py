"""The plug for a judge that is asked when the detector does not know."""

from dataclasses import dataclass
from typing import Literal, Protocol

from sidecypher_procedures.rules.detector.reading import Reading


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a judge thinks of two rules.

    Attributes:
        kind: `suspected`, the most that a judge can say, or `unknown`.
        score: How sure it is, 0 to 1.
        model: What gave the answer.
        reason: One line for people.
    """

    kind: Literal["suspected", "unknown"]
    score: float
    model: str
    reason: str


class Judge(Protocol):
    """An NLI model or an LLM, asked only for pairs whose verdict is `unknown`.

    Its answer is stored with model and score, and makes a rule `contested (suspected)` at most: it
    never lets one rule silently win over another. It may be slow, so it runs outside transactions.
    """

    def judge(self, a: Reading, b: Reading) -> Judgement:
        """Say whether the two rules contradict each other."""
        ...
