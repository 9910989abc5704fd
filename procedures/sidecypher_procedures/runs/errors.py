"""Every error of the `runs` procedures.

No content of an event is ever in an error: it is data of a user.
"""

from sidecypher import ProcedureError


class RunsError(ProcedureError):
    """Base of all errors of the `runs` procedures.

    Example:
        >>> raise UnknownRun("There is no run `r1`")
        Traceback (most recent call last):
        ...
        sidecypher_procedures.runs.errors.UnknownRun: There is no run `r1`
    """

    code = "SC-900"


class TooManyParents(RunsError):
    """An event would have more parents than allowed."""

    code = "SC-901"


class InvalidArgument(RunsError):
    """An argument has an invalid value."""

    code = "SC-902"


class UnknownRun(RunsError):
    """No run has this id."""

    code = "SC-903"
    default_hint = "`runs.list` lists the runs; `runs.create` creates one."


class UnknownParent(RunsError):
    """A parent is not an event of this run."""

    code = "SC-904"
    default_hint = "Give ids that `runs.events` lists for this run."


class EventTaken(RunsError):
    """The id belongs to an event with other content, or to another run."""

    code = "SC-905"
    default_hint = "Give another `id`, or leave it out."


class RunTaken(RunsError):
    """The id belongs to another run."""

    code = "SC-906"
    default_hint = "Give another `id`, or leave it out."


class SequenceConflict(RunsError):
    """The run has new events since the caller last read it."""

    code = "SC-907"
    default_hint = "Read what is new by `runs.events`, and decide again."


class IllegalState(RunsError):
    """The transition between states of a run is not allowed."""

    code = "SC-908"


class UnknownReference(RunsError):
    """A node that an event refers to is not in the graph."""

    code = "SC-909"


class RunsSettingsError(RunsError):
    """A setting of the `runs` procedures is unknown or cannot be used."""

    code = "SC-910"


class UnknownEvent(RunsError):
    """No event has this id, or is at this place."""

    code = "SC-911"
    default_hint = "`runs.events` lists the events of a run."


class UnknownPlan(RunsError):
    """No plan has this id."""

    code = "SC-912"
    default_hint = "`runs.plan.create` writes plans and returns their ids."


class PlanSuperseded(RunsError):
    """The plan has a newer version."""

    code = "SC-913"


class IllegalStatus(RunsError):
    """The action is not allowed for a plan with this status, or for an answered call of a tool."""

    code = "SC-914"


class UnknownOnGithub(RunsError):
    """GitHub has nothing with these names, or nothing that the token can see."""

    code = "SC-922"
    default_hint = "Check the names; what is private needs a token that may read it."


class InitiatorTaken(RunsError):
    """Another user began the run; a run has only one such user."""

    code = "SC-923"
    default_hint = "Leave the run to its user, or begin another by `runs.create`."


class RunMustStay(RunsError):
    """A run has not ended, is needed by others, or has what an archive cannot hold."""

    code = "SC-917"


class ArchiveUnavailable(RunsError):
    """There is no folder for archives, or it cannot be used."""

    code = "SC-918"


class ArchiveDamaged(RunsError):
    """An archive was changed, or a restored run differs from it."""

    code = "SC-919"
    default_hint = "Put back the file from a backup."


class UnknownArchive(RunsError):
    """No run with this id was archived, or its latest archive is unknown."""

    code = "SC-920"
    default_hint = "`runs.archive` returns the names of the files in the folder for archives."
