"""Every error of the `algo` procedures."""

from sidecypher import ProcedureError


class AlgoError(ProcedureError):
    """Base of all errors of the `algo` procedures.

    Example:
        >>> raise AlgoSettingsError("There is no setting `SIDECYPHER_ALGO_X`")
        Traceback (most recent call last):
        ...
        sidecypher_procedures.algo.errors.AlgoSettingsError: There is no setting ...
    """

    code = "SC-930"


class AlgoSettingsError(AlgoError):
    """A setting of the `algo` procedures is unknown or cannot be used."""

    code = "SC-931"


class LibrariesMissing(AlgoError):
    """The libraries of the `algo` procedures are not installed where the procedure runs."""

    code = "SC-932"
    default_hint = "Install `sidecypher[algo]` there."


class WrongWeight(AlgoError):
    """A weight of a relationship is negative, or not finite."""

    code = "SC-933"
    default_hint = "Correct it, or give another property."
