"""Every error of `sync`.

No content of an event is ever in an error: it is data of a user.
"""

from sidecypher import ProcedureError


class SyncError(ProcedureError):
    """Base of all errors of `sync`.

    Example:
        >>> raise RedisUnavailable("Redis cannot be reached")
        Traceback (most recent call last):
        ...
        sidecypher_procedures.sync.errors.RedisUnavailable: Redis cannot be reached
    """

    code = "SC-940"


class SyncSettingsError(SyncError):
    """A setting of `sync` is unknown, missing, or cannot be used."""

    code = "SC-941"


class RedisUnavailable(SyncError):
    """Redis cannot be reached, or refuses a command."""

    code = "SC-942"


class RedisUnsuitable(SyncError):
    """Redis is set up in a way that loses events, or cannot be written to."""

    code = "SC-943"


class InvalidEvent(SyncError):
    """An event that is to be published cannot be appended to a run."""

    code = "SC-944"


class NoDeadLetters(SyncError):
    """A run has no dead letters, or none with this id."""

    code = "SC-945"
    default_hint = "`sidecypher sync dead` lists the dead letters."


class PostgresUnavailable(SyncError):
    """PostgreSQL cannot be reached, or refuses a user or a statement."""

    code = "SC-946"


class PostgresUnsuitable(SyncError):
    """The schema in PostgreSQL is missing or of another version, or the role lacks rights."""

    code = "SC-947"


class UnknownDraft(SyncError):
    """No draft has this id."""

    code = "SC-948"
    default_hint = "`Drafts.list` lists the drafts of a run."


class DraftClosed(SyncError):
    """A draft was published or discarded."""

    code = "SC-949"
    default_hint = "Create another draft."


class ChangesUnavailable(SyncError):
    """The trigger that writes the outbox cannot be installed, or was stopped."""

    code = "SC-939"
