"""Every error of the `session` procedures.

No output of a step and no answer of a person is ever in an error: they are data of a user.
"""

from sidecypher import ProcedureError


class SessionError(ProcedureError):
    """Base of all errors of the `session` procedures.

    Example:
        >>> raise UnknownSession("There is no session `s1`")
        Traceback (most recent call last):
        ...
        sidecypher_procedures.session.errors.UnknownSession: There is no session `s1`
    """

    code = "SC-950"


class InvalidReference(SessionError):
    """A text has an `@{` that does not begin a reference.

    Attributes:
        position: Where it begins in the text, from 0.
    """

    code = "SC-951"

    def __init__(self, message: str, position: int, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.position = position


class InvalidCondition(SessionError):
    """The condition of an edge cannot be read."""

    code = "SC-952"


class InvalidWorkflow(SessionError):
    """A workflow cannot be used."""

    code = "SC-953"


class UnknownWorkflow(SessionError):
    """There is no workflow with this name, or it has no entry step."""

    code = "SC-954"
    default_hint = "`session.define` writes workflows; STEP nodes in the graph are one, too."


class UnknownSession(SessionError):
    """No session has this id."""

    code = "SC-955"
    default_hint = "`session.list` lists the sessions; `session.start` starts one."


class SessionTaken(SessionError):
    """The id belongs to another session."""

    code = "SC-956"
    default_hint = "Give another `id`, or leave it out."


class SessionEnded(SessionError):
    """The session cannot do this in its status."""

    code = "SC-957"


class InvalidAnswer(SessionError):
    """An answer does not have the form that its request asks for."""

    code = "SC-958"


class RequestClosed(SessionError):
    """The request has another answer, or none is open."""

    code = "SC-959"
    default_hint = "`session.awaiting` lists the open requests."


class StepFailed(SessionError):
    """A step failed, or cannot be run as it is written."""

    code = "SC-960"


class SessionSettingsError(SessionError):
    """A setting of the `session` procedures is unknown or cannot be used."""

    code = "SC-961"
    default_hint = "Correct the setting and restart the sidecar."


class UnknownExecution(SessionError):
    """The session has no such execution of the step."""

    code = "SC-962"
    default_hint = "`session.history` lists the executions of a session."
