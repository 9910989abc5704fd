"""What running a step comes to, and what its function gets to know."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from sidecypher_procedures.session.store import Session, Tx
from sidecypher_procedures.session.workflow import Step

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """A message of the conversation of a session."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Done:
    """A step has ended.

    Attributes:
        value: Its output, which JSON has.
        messages: What it adds to the conversation.
    """

    value: Any
    messages: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class Failed:
    """A step has failed.

    Attributes:
        reason: For people; without data of the session.
        is_final: Whether another try is useless.
    """

    reason: str
    is_final: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """A step waits for the answer of a person.

    Attributes:
        request: Properties of the request: `statement`, and what an answer must be.
    """

    request: Mapping[str, Any]
    messages: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class Waiting:
    """A step ends by itself at a time."""

    until: datetime


@dataclass(frozen=True, slots=True)
class Delegated:
    """A step waits for the end of another session.

    Attributes:
        session: Its id.
    """

    session: str


Outcome = Done | Failed | Asked | Waiting | Delegated


@dataclass(slots=True)
class StepCall:
    """One execution of a step inside a transaction.

    Attributes:
        given: Its input, with what its references refer to.
    """

    tx: Tx
    session: Session
    step: Step
    cycle: int
    given: dict[str, Any] = field(repr=False)
