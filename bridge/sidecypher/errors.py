"""Every error sidecypher raises, in one tree.

::

    SidecypherError                  code, hint, retryable, details
    ├── SignatureError      SC-101   a procedure's annotations cannot become a Cypher signature
    ├── DuplicateProcedure  SC-102   two procedures claim one name
    ├── ModuleLoadError     SC-103   a module of procedures cannot be imported
    ├── CatalogueError      SC-104   a catalogue cannot be read (in `sidecypher.protocol.catalogue`)
    ├── CallError                    a call did not give its rows
    │   ├── ProcedureError  SC-201   raised by authors: the text reaches the Cypher caller
    │   ├── ProcedureFailed SC-202   a body raised something unexpected; the text stays in the log
    │   ├── UnknownProcedure SC-203  no procedure has this name
    │   ├── ArgumentError   SC-204   wrong number or type of arguments
    │   ├── RowError        SC-205   a body returned something its columns do not allow
    │   ├── CypherError     SC-206   a statement sent by `ctx.run` failed; the transaction is doomed
    │   ├── CallCancelled   SC-207   the caller has gone or its transaction was terminated
    │   ├── ContextExpired  SC-208   a context was used after its call, or from another thread
    │   ├── NoTransaction   SC-209   this transport has no transaction for `ctx.run`
    │   ├── SidecarStopping SC-210   the sidecar begins no more calls
    │   ├── SidecarBusy     SC-211   the sidecar has no room for the arguments of another call
    │   ├── OutcomeUnknown  SC-212   a function was lost while it ran, and with it what it has done
    │   ├── DeadlineExceeded SC-213  the call's time is used up
    │   ├── ProtocolError   SC-214   a peer broke the wire format
    │   ├── ValueTypeError  SC-215   a value has no Cypher type that the bridge carries
    │   ├── MessageTooLarge SC-216   a message is larger than the limit
    │   ├── CatalogueMismatch SC-217 plugin and sidecar disagree about a signature
    │   ├── ModeError       SC-219   a statement of `ctx.run` needs a higher mode
    │   ├── WorkerLost      SC-220   a worker process died or used too much memory
    │   ├── StreamExpired   SC-221   the next page was not asked for in time
    │   └── ClusterUnavailable SC-222 no Ray cluster can run the call
    ├── SettingsError       SC-601   a setting is unknown or has a value that cannot be used
    ├── ListenError         SC-602   the sidecar cannot listen on a port
    ├── RunFolderError      SC-604   the run folder or a file in it cannot be used
    ├── Neo4jUnavailable    SC-605   Neo4j cannot be reached over Bolt, or asks to try again
    ├── ReloadFailed        SC-611   a sidecar did not load its procedures again
    └── RecordingError      SC-620   a recording of a call cannot be used

The runtime (SC-3xx), the plugin's builder (SC-4xx) and `github` (SC-5xx) keep their errors next to
their code. From the Java side alone come SC-218 (an entity that is not there) and nearly every
SC-210, SC-211 and SC-212 (unavailable, busy, outcome unknown), because Python is what could not be
reached.
`docs/errors.md` explains every code to its reader.
"""

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Final

_TEXT_LENGTH: Final = 10_000

_BRIDGE_CODE: Final = re.compile(r"SC-[0-467]")
"""How the bridge's own codes begin; the others are those of the shipped procedures."""

_OWN_CODE: Final = re.compile(r"[\w.:/-]{1,100}")

_CODED: Final = re.compile(rf"\[({_OWN_CODE.pattern})\] (.*)", re.DOTALL)
"""How the error of a procedure arrives over Bolt."""


def sendable(text: object) -> str:
    """Return what an author gave as a text that UTF-8 can carry, bounded in length."""
    return str(text)[:_TEXT_LENGTH].encode(errors="replace").decode()


class SidecypherError(Exception):
    """Base of all errors, with what a person and a program need to act on it.

    Attributes:
        code: Stable identifier such as ``SC-204``, or an author's own such as ``kg.no-such-index``.
        hint: What to do next, one sentence, or ``""``.
        retryable: Whether the same call may succeed later without a change.
        details: Facts for programs; JSON values only, never arguments or secrets.

    Example:
        >>> error = SidecypherError("`kg.score` is not there", code="SC-203", hint="Reload it.")
        >>> error.code, error.hint
        ('SC-203', 'Reload it.')
    """

    code: str = "SC-000"
    default_hint: ClassVar[str] = ""

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        hint: str | None = None,
        retryable: bool = False,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = self._code(code)
        self.hint = hint if hint is not None else type(self).default_hint
        self.retryable = retryable
        self.details = dict(details or {})

    def _code(self, given: str | None) -> str:
        return type(self).code if given is None else given


class SignatureError(SidecypherError):
    """A Python signature cannot become a Cypher signature; raised at import."""

    code = "SC-101"


class DuplicateProcedure(SidecypherError):
    """Two procedures claim one Cypher name; raised when the registry is filled."""

    code = "SC-102"
    default_hint = "Rename one of the two."


class ModuleLoadError(SidecypherError):
    """A module of procedures cannot be imported; the other modules still load."""

    code = "SC-103"


class CallError(SidecypherError):
    """A call did not give its rows."""


class ProcedureError(CallError):
    """Tell the Cypher caller, in your own words, why the procedure cannot answer.

    A code of the bridge's own, such as ``SC-210``, becomes ``SC-201``: HTTP clients, metrics and
    drivers act on those. So does a code that is not one word of up to 100 letters, digits,
    dots, colons, slashes, hyphens and underscores.

    Example:
        >>> raise ProcedureError("No index `people`", code="kg.no-such-index", retryable=False)
        Traceback (most recent call last):
        ...
        sidecypher.errors.ProcedureError: No index `people`
    """

    code = "SC-201"

    def _code(self, given: str | None) -> str:
        code = str(super()._code(given))
        is_own = _OWN_CODE.fullmatch(code) and not _BRIDGE_CODE.match(code)
        return code if is_own else ProcedureError.code


class ProcedureFailed(CallError):
    """A body raised something unexpected; its own text may hold data, so only its type is told."""

    code = "SC-202"
    default_hint = "Search the sidecar's log for the call id."


class UnknownProcedure(CallError):
    """No procedure has this name in the sidecar."""

    code = "SC-203"
    default_hint = (
        "See `sidecypher status` for what could not be loaded; if the procedure is gone for good, "
        "rebuild the plugin with `sidecypher plugin build` and restart Neo4j."
    )


class ArgumentError(CallError):
    """The number or a type of the arguments does not fit the procedure's signature."""

    code = "SC-204"


class RowError(CallError):
    """A body returned something that its declared columns do not allow."""

    code = "SC-205"
    default_hint = "Return rows of the annotated Row class with values of the annotated types."


class CypherError(CallError):
    """A statement sent by `ctx.run` failed; the transaction is doomed and so is the call.

    Attributes:
        neo4j_code: Neo4j's status, such as ``Neo.ClientError.Statement.SyntaxError``.
    """

    code = "SC-206"

    def __init__(self, message: str, *, neo4j_code: str) -> None:
        super().__init__(message, details={"neo4jCode": neo4j_code})
        self.neo4j_code = neo4j_code


def split_code(message: str) -> tuple[str, str]:
    """Split a message of Neo4j into code and text of the error that a procedure raised.

    Returns:
        The code and the text; no code and the whole message if it is not the error of a procedure.

    Example:
        >>> split_code("[SC-204] The argument `limit` is negative")
        ('SC-204', 'The argument `limit` is negative')
        >>> split_code("Variable `n` not defined")
        ('', 'Variable `n` not defined')
    """
    coded = _CODED.fullmatch(message)
    return (coded[1], coded[2]) if coded else ("", message)


class CallCancelled(CallError):
    """The caller has gone, its transaction was terminated, or it was cancelled in the sidecar."""

    code = "SC-207"


class ContextExpired(CallError):
    """A context was used after its call had ended, or from a thread that does not serve it."""

    code = "SC-208"


class NoTransaction(CallError):
    """The call came by a transport that has no transaction for `ctx.run`."""

    code = "SC-209"


class SidecarStopping(CallError):
    """The sidecar begins no more calls; the plugin asks another one, or tells its caller."""

    code = "SC-210"


class SidecarBusy(CallError):
    """The sidecar has no room for the arguments of another call, and has not begun it."""

    code = "SC-211"


class OutcomeUnknown(CallError):
    """A function was lost while it ran: it may have done a part of its work, or all of it."""

    code = "SC-212"
    default_hint = "Call again if the procedure may run twice; it may say so by `retryable=True`."


class DeadlineExceeded(CallError):
    """The call's time is used up."""

    code = "SC-213"


class ProtocolError(CallError):
    """A peer broke the wire format; the connection is closed."""

    code = "SC-214"


class ValueTypeError(CallError):
    """A value has no Cypher type that the bridge carries."""

    code = "SC-215"


class MessageTooLarge(CallError):
    """A message is larger than the limit both sides keep."""

    code = "SC-216"


class CatalogueMismatch(CallError):
    """The plugin was built from another signature than the one the sidecar has loaded."""

    code = "SC-217"
    default_hint = "Rebuild the plugin with `sidecypher plugin build`, then restart Neo4j."


class ModeError(CallError):
    """A statement of `ctx.run` needs a higher mode than the procedure's, or one that none has."""

    code = "SC-219"
    default_hint = 'Declare the procedure with `mode="WRITE"` or `mode="SCHEMA"`.'


class WorkerLost(CallError):
    """A worker process died or used too much memory; another takes its place."""

    code = "SC-220"
    default_hint = "Let each call do less, or give workers more memory by `worker_memory_mb`."


class StreamExpired(CallError):
    """A stream's next page was not asked for within its lease; the generator was closed."""

    code = "SC-221"
    default_hint = "Read the rows faster, or raise `stream_lease_seconds`."


class ClusterUnavailable(CallError):
    """No Ray cluster can run the call, which has not begun."""

    code = "SC-222"
    default_hint = "Run `sidecypher doctor`, and check the setting `ray_address`."


class SettingsError(SidecypherError):
    """A setting is unknown, or has a value that cannot be used."""

    code = "SC-601"


class ListenError(SidecypherError):
    """The sidecar cannot listen on a port."""

    code = "SC-602"


class RunFolderError(SidecypherError):
    """The run folder, or a file in it, cannot be used."""

    code = "SC-604"


class Neo4jUnavailable(SidecypherError):
    """Neo4j cannot be reached by the sidecar as a client, or asks to try again."""

    code = "SC-605"
    default_hint = "Check that Neo4j runs, and the settings `neo4j_uri` and `neo4j_password`."


class ReloadFailed(SidecypherError):
    """A sidecar did not load its procedures again."""

    code = "SC-611"
    default_hint = "Run `sidecypher status` and read its log."


class RecordingError(SidecypherError):
    """A recording of a failing call cannot be read or does not fit the code."""

    code = "SC-620"
    default_hint = "Record the call again, with the setting `record_dir`."
