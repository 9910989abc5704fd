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
    """An event would join more others than one can follow."""

    code = "SC-901"


class InvalidArgument(RunsError):
    """An argument has a value that it cannot have."""

    code = "SC-902"


class UnknownRun(RunsError):
    """No run has this id."""

    code = "SC-903"
    default_hint = "`runs.list` gives the runs there are; `runs.create` begins one."


class UnknownParent(RunsError):
    """A parent is not an event of this run."""

    code = "SC-904"
    default_hint = "Give ids that `runs.events` lists for this run."


class EventTaken(RunsError):
    """The id belongs to an event of other content, or of another run."""

    code = "SC-905"
    default_hint = "Give another `id`, or leave it out."


class RunTaken(RunsError):
    """The id belongs to another run."""

    code = "SC-906"
    default_hint = "Give another `id`, or leave it out."


class SequenceConflict(RunsError):
    """The run has gone on since the caller last looked."""

    code = "SC-907"
    default_hint = "Read what is new by `runs.events`, and decide again."


class IllegalState(RunsError):
    """A run cannot go from its state to that one."""

    code = "SC-908"


class UnknownReference(RunsError):
    """What an event refers to is not in the graph."""

    code = "SC-909"


class RunsSettingsError(RunsError):
    """A setting of the `runs` procedures is unknown or cannot be used."""

    code = "SC-910"


class UnknownEvent(RunsError):
    """No event has this id, or is at this place."""

    code = "SC-911"
    default_hint = "`runs.events` gives the events of a run."


class UnknownPlan(RunsError):
    """No plan has this id."""

    code = "SC-912"
    default_hint = "`runs.plan.create` writes plans, and gives their ids."


class PlanSuperseded(RunsError):
    """The plan has a newer version."""

    code = "SC-913"


class IllegalStatus(RunsError):
    """This cannot be done with a plan of its status."""

    code = "SC-914"


class UnknownOnGithub(RunsError):
    """GitHub has nothing of these names, or nothing that the token may see."""

    code = "SC-922"
    default_hint = "Check the names; what is private needs a token that may read it."


class InitiatorTaken(RunsError):
    """Another user has begun the run: it has only one who did."""

    code = "SC-923"
    default_hint = "Leave the run to its user, or begin another by `runs.create`."


class RunMustStay(RunsError):
    """A run has not ended, is needed by others, or has what an archive cannot hold."""

    code = "SC-917"


class ArchiveUnavailable(RunsError):
    """There is no folder for archives, or it cannot be used."""

    code = "SC-918"


class ArchiveDamaged(RunsError):
    """An archive is not what was written, or not what a restored run says."""

    code = "SC-919"
    default_hint = "Put back the file from a backup."


class UnknownArchive(RunsError):
    """No run of this id was archived, or it is unknown which of its archives is the latest."""

    code = "SC-920"
    default_hint = "`runs.archive` gives the names of the files in the folder for archives."
