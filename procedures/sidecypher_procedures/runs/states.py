"""The state of a run: one rule, kept on the run, for everybody who asks.

The state is that of the latest event that bears one; a run without any is `pending`.
"""

from dataclasses import dataclass
from typing import Final, Literal, cast

from sidecypher_procedures.runs.errors import IllegalState

State = Literal["pending", "running", "completed", "error", "timedOut"]

# What seed 000 calls it.
SYNONYMS: Final[dict[str, State]] = {"failed": "error"}

BORNE: Final[dict[str, State]] = {
    "workflowStarted": "running",
    "workflowCompleted": "completed",
    "workflowCancelled": "error",
}
NEXT: Final[dict[State, frozenset[State]]] = {
    "pending": frozenset({"running", "completed", "error", "timedOut"}),
    "running": frozenset({"pending", "completed", "error", "timedOut"}),
    "timedOut": frozenset({"pending", "running", "completed", "error"}),
    # A run that failed may be taken up again. What is completed or cancelled stays so.
    "error": frozenset({"running"}),
    "completed": frozenset(),
}
FINAL: Final[frozenset[State]] = frozenset({"completed", "error"})
CANCELLED: Final = "cancelled"
"""The result of a run that was cancelled."""


def state_of(stored: str | None) -> State:
    """Return the state of a run from what is stored there, which plain Cypher may have written.

    Example:
        >>> state_of("failed")
        'error'
    """
    found = cast("State", stored or "pending")
    return SYNONYMS.get(found, found)


@dataclass(frozen=True, slots=True)
class Standing:
    """How a run stands.

    Attributes:
        state: Its state.
        result: `cancelled`, or None.
    """

    state: State = "pending"
    result: str | None = None

    def after(self, event_type: str, state: State | None) -> "Standing":
        """Return how it stands after an event.

        Args:
            event_type: The event's type, as the graph names it.
            state: The state that the event itself tells, if it does.

        Raises:
            IllegalState: The run cannot go there from here.

        Example:
            >>> Standing().after("workflowStarted", None).state
            'running'
        """
        wanted = state or BORNE.get(event_type)
        if wanted is None:
            return self
        result = CANCELLED if event_type == "workflowCancelled" else None
        if wanted == self.state and result == self.result:
            return self
        if self.result == CANCELLED or wanted not in NEXT[self.state] | {self.state}:
            came = CANCELLED if self.result == CANCELLED else self.state
            raise IllegalState(
                f"A run that is `{came}` cannot become `{result or wanted}`",
                hint=_hint(came, self.state),
            )
        return Standing(wanted, result)


def _hint(came: str, state: State) -> str:
    allowed = sorted(NEXT[state]) if came != CANCELLED else []
    if not allowed:
        return "Begin another run by `runs.create`, or a fork of this one by `runs.fork`."
    return f"From there it can become {' or '.join(allowed)}."
