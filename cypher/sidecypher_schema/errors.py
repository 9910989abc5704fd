"""The errors of schema and migrations."""

from sidecypher import SidecypherError


class SchemaError(SidecypherError):
    """The schema cannot be changed to agree with the files."""

    code = "SC-700"


class BadScript(SchemaError):
    """A script cannot be split into statements; the text names file and line."""

    code = "SC-701"


class BadScriptName(SchemaError):
    """A file's name has no version, or the version of another file."""

    code = "SC-702"
    default_hint = "Name it like `V003__what_it_does.cypher` or `R__what_it_does.cypher`."


class StatementFailed(SchemaError):
    """Neo4j refused a statement; `details` has file, line, Neo4j's code and its message."""

    code = "SC-705"
    default_hint = "Correct the script and migrate again; what ran before it is recorded."


class LockHeld(SchemaError):
    """Another run is in progress; `details` has its holder and the end of its lease."""

    code = "SC-706"
    default_hint = "Wait for it with `--wait SECONDS`; the lock of one that crashed runs out."


class LockLost(SchemaError):
    """The lease of this run expired and another run began; this one wrote nothing since."""

    code = "SC-707"
    default_hint = "Let the other run end, then migrate again."


class ChainMismatch(SchemaError):
    """The files are not those that were applied; nothing was run."""

    code = "SC-708"
    default_hint = "`sidecypher migrate validate` lists all differences."


class TriggerRefused(SchemaError):
    """A trigger was not installed, since every write would fail with it."""

    code = "SC-709"


class TriggerNotSeen(SchemaError):
    """A trigger was installed, stopped, started or dropped, and Neo4j does not show it in time."""

    code = "SC-710"
    default_hint = "Neo4j reads triggers again every `apoc.trigger.refresh` ms; lower that."


class CleanRefused(SchemaError):
    """The removal of schema was not confirmed."""

    code = "SC-711"
    default_hint = "Answer the question in a terminal, or give `--yes`."


class GraphUnavailable(SchemaError):
    """Neo4j cannot be reached, or refuses a statement that the run itself needs."""

    code = "SC-712"
    default_hint = "Check address, user and password, and what that user may do."
