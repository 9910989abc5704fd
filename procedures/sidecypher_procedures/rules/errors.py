"""Every error of the `rules` procedures and of their client.

No text of a rule, a snippet or a prompt is ever in an error: they are data of a user.
"""

from sidecypher import ProcedureError, SidecypherError


class RulesError(ProcedureError):
    """Base of all errors of the `rules` procedures.

    Example:
        >>> raise UnknownRule("There is no rule `r1`")
        Traceback (most recent call last):
        ...
        sidecypher_procedures.rules.errors.UnknownRule: There is no rule `r1`
    """

    code = "SC-800"


class InvalidRule(RulesError):
    """A rule that plain Cypher wrote cannot be used, or a rule ends before it begins."""

    code = "SC-801"


class InvalidArgument(RulesError):
    """An argument has an invalid value."""

    code = "SC-803"


class UnknownRule(RulesError):
    """No rule has this id."""

    code = "SC-804"
    default_hint = "`CALL rules.active(userId, scope, scopeId)` lists the rules with their ids."


class RuleTaken(RulesError):
    """The id belongs to another rule, or the rule exists with another id."""

    code = "SC-805"


class InvalidInput(RulesError):
    """The output of an extractor or a judge cannot be used."""

    code = "SC-806"


class RulesSettingsError(RulesError):
    """A setting that starts with SIDECYPHER_RULES_ is unknown or cannot be used."""

    code = "SC-807"
    default_hint = "Correct the setting and restart the sidecar."


class ScopeChanged(RulesError):
    """A scope was written while a model judged one of its rules; nothing was recorded."""

    code = "SC-808"
    default_hint = "Call `rules.unknown` again, and ask the model about its rows."


class UnknownExtraction(RulesError):
    """No extraction has this id."""

    code = "SC-809"
    default_hint = "`CALL rules.history(ruleId)` lists the extractions of a rule."


class ClientError(SidecypherError):
    """Base of all errors of the client that are not those of its arguments."""

    code = "SC-810"


class MemoryUnavailable(ClientError):
    """Neo4j, or the `rules` procedures in it, did not answer as they should."""

    code = "SC-811"
    default_hint = (
        "Check that Neo4j and the sidecar are running, and that NEO4J_URI names that Neo4j; "
        "`sidecypher status` shows the address of the embedded one."
    )


class JudgeUnavailable(ClientError):
    """The API of a judge does not answer, or answers with an error."""

    code = "SC-813"
    default_hint = "Check the address, the key and the name of the model."


class ClientSettingsError(ClientError):
    """A variable of the client is unknown or has an unusable value."""

    code = "SC-812"
    default_hint = "Correct the variable and make a new client."
