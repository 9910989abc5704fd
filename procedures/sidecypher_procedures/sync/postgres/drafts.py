"""Drafts: texts that users edit, approve, publish or discard, each belonging to a run."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, Literal, LiteralString

from psycopg import sql
from psycopg.types.json import Jsonb

from sidecypher_procedures.names import LONGEST_NAME, is_id, shown_id
from sidecypher_procedures.sync.errors import DraftClosed, InvalidEvent, UnknownDraft
from sidecypher_procedures.sync.postgres.decisions import PLAN
from sidecypher_procedures.sync.postgres.outbox import add_event
from sidecypher_procedures.sync.postgres.settings import PostgresSettings
from sidecypher_procedures.sync.postgres.statements import Rows, Statement, Steps, in_transaction
from sidecypher_procedures.sync.streams import new_event_id

Status = Literal["draft", "published", "discarded"]
Action = Literal["create", "edit", "approve", "publish", "discard"]

EVENT_PREFIX: Final = "draft/"
"""What the ids of events about drafts begin with; the id of the draft and another one follow."""

_COLUMNS: Final = sql.SQL(
    "id, workflow_run_id, content_type, content, metadata, status, version, created_by, created_at,"
    " updated_at"
)
_CREATE: Final = """
    INSERT INTO {schema}.drafts
        (id, workflow_run_id, content_type, content, metadata, created_by)
    VALUES (
        %(id)s, %(workflow_run_id)s, %(content_type)s, %(content)s, %(metadata)s, %(created_by)s
    )
    RETURNING {columns}
"""
_READ: Final = "SELECT {columns} FROM {schema}.drafts WHERE id = %(id)s"
_LOCK: Final = "SELECT {columns} FROM {schema}.drafts WHERE id = %(id)s FOR UPDATE"
_LIST: Final = """
    SELECT {columns} FROM {schema}.drafts
    WHERE workflow_run_id = %(run)s AND (%(status)s::text IS NULL OR status = %(status)s)
    ORDER BY id
"""
_CHANGE: Final = """
    UPDATE {schema}.drafts
    SET status = %(status)s, content = coalesce(%(content)s, content),
        version = version + CASE WHEN %(content)s::text IS NULL THEN 0 ELSE 1 END,
        updated_at = clock_timestamp()
    WHERE id = %(id)s
    RETURNING {columns}
"""
_RECORD: Final = """
    INSERT INTO {schema}.user_actions
        (draft_id, workflow_run_id, user_id, action, message, version, event_id)
    VALUES (%(id)s, %(run)s, %(user)s, %(action)s, %(message)s, %(version)s, %(event)s)
"""
_ACTIONS: Final = """
    SELECT draft_id, user_id, action, message, version, event_id, created_at
    FROM {schema}.user_actions WHERE draft_id = %(id)s ORDER BY id
"""

_STATUS: Final[Mapping[Action, Status]] = {"publish": "published", "discard": "discarded"}
_DONE: Final[Mapping[Action, str]] = {
    "create": "Draft created",
    "edit": "Draft edited",
    "approve": "Draft approved",
    "publish": "Draft published",
    "discard": "Draft discarded",
}


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft.

    Attributes:
        workflow_run_id: The run that it belongs to.
        content_type: What it is, such as `comment` or `text/markdown`.
        version: From 1; each edit adds one.
    """

    id: str
    workflow_run_id: str
    content_type: str
    content: str
    metadata: dict[str, Any]
    status: Status
    version: int
    created_by: str
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class UserAction:
    """What a user did with a draft.

    Attributes:
        version: The version of the draft that it was done with, or that it made.
        event_id: The event about it in the run.
    """

    draft_id: str
    user_id: str
    action: Action
    message: str
    version: int
    event_id: str
    created_at: datetime


class Drafts:
    """Reads and changes drafts in the transaction of a program.

    Each change records an action of the user, and adds an event of the run to the outbox. The first
    argument of each method is a `Connection` of psycopg, or an `AsyncConnection`, with which the
    result has to be awaited. Who may do what is for your program to decide.

    Args:
        schema: The schema with the tables; that of the environment by default.

    Raises:
        SyncSettingsError: A setting cannot be used.

    Example:
        >>> def answer(conn, run_id: str, text: str) -> None:
        ...     drafts = Drafts()
        ...     draft = drafts.create(conn, run_id, content=text, user_id="ann")
        ...     drafts.publish(conn, draft.id, user_id="bob")
    """

    def __init__(self, schema: str | None = None) -> None:
        self._name = schema or PostgresSettings.load().namespace

    @in_transaction
    def create(
        self,
        run_id: str,
        *,
        content: str,
        user_id: str,
        content_type: str = "text/plain",
        metadata: Mapping[str, Any] | None = None,
    ) -> Steps[Draft]:
        """Create a draft that belongs to a run, which has to exist when its event is written.

        If its metadata has the id of a plan as `planId`, `approve` and `discard` decide about it.

        Raises:
            InvalidEvent: An id is empty or too long.
        """
        now = datetime.now(UTC)
        draft = Draft(
            id=new_event_id(),
            workflow_run_id=run_id,
            content_type=content_type,
            content=content,
            metadata=dict(metadata or {}),
            status="draft",
            version=1,
            created_by=user_id,
            created_at=now,
            updated_at=now,
        )
        yield from self._record(draft, "create", user_id, "")
        given = {**asdict(draft), "metadata": Jsonb(draft.metadata)}
        [row] = yield self._statement(_CREATE, **given)
        return Draft(**row)

    @in_transaction
    def read(self, draft_id: str) -> Steps[Draft]:
        """Return a draft.

        Raises:
            UnknownDraft: No draft has this id.
        """
        rows = yield self._statement(_READ, id=draft_id)
        return _found(rows, draft_id)

    @in_transaction
    def list(self, run_id: str, *, status: Status | None = None) -> Steps[tuple[Draft, ...]]:
        """Return the drafts of a run, or those of one status, the oldest first."""
        rows = yield self._statement(_LIST, run=run_id, status=status)
        return tuple(Draft(**row) for row in rows)

    @in_transaction
    def actions(self, draft_id: str) -> Steps[tuple[UserAction, ...]]:
        """Return what users did with a draft, in order, also after it was deleted."""
        rows = yield self._statement(_ACTIONS, id=draft_id)
        return tuple(UserAction(**row) for row in rows)

    @in_transaction
    def edit(self, draft_id: str, *, content: str, user_id: str, message: str = "") -> Steps[Draft]:
        """Change the text of a draft; this makes a new version.

        Raises:
            UnknownDraft: No draft has this id.
            DraftClosed: It was published or discarded.
        """
        return (yield from self._change(draft_id, "edit", user_id, message, content))

    @in_transaction
    def approve(self, draft_id: str, *, user_id: str, message: str = "") -> Steps[Draft]:
        """Record that a user approves a draft: a `reviewComment` in its run.

        If the draft is about a plan, that is approved by `runs.plan.approve`.

        Raises:
            UnknownDraft: No draft has this id.
            DraftClosed: It was published or discarded.
        """
        return (yield from self._change(draft_id, "approve", user_id, message))

    @in_transaction
    def publish(self, draft_id: str, *, user_id: str, message: str = "") -> Steps[Draft]:
        """Publish a draft, which cannot be changed any more.

        Raises:
            UnknownDraft: No draft has this id.
            DraftClosed: It was published or discarded.
        """
        return (yield from self._change(draft_id, "publish", user_id, message))

    @in_transaction
    def discard(self, draft_id: str, *, user_id: str, message: str = "") -> Steps[Draft]:
        """Discard a draft, which stays and cannot be changed any more.

        If the draft is about a plan, that is rejected by `runs.plan.reject`.

        Raises:
            UnknownDraft: No draft has this id.
            DraftClosed: It was published or discarded.
        """
        return (yield from self._change(draft_id, "discard", user_id, message))

    def _change(
        self, draft_id: str, action: Action, user_id: str, message: str, content: str | None = None
    ) -> Steps[Draft]:
        # Under a lock, so that of two users who decide at once the second one is told.
        rows = yield self._statement(_LOCK, id=draft_id)
        draft = _found(rows, draft_id)
        if draft.status != "draft":
            raise DraftClosed(f"The draft `{shown_id(draft_id)}` is {draft.status}")
        status = _STATUS.get(action, draft.status)
        changed = replace(draft, status=status, version=draft.version + (content is not None))
        yield from self._record(changed, action, user_id, message)
        [row] = yield self._statement(_CHANGE, id=draft_id, status=status, content=content)
        return Draft(**row)

    def _record(self, draft: Draft, action: Action, user_id: str, message: str) -> Steps[None]:
        """Record an action of a user, and add the event about it.

        To be called before the draft is written. If the event is refused, nothing was written, and
        the program may go on with its transaction.
        """
        if not is_id(user_id):
            raise InvalidEvent(
                f"The id of the user has {len(user_id)} characters",
                hint=f"Give 1 to {LONGEST_NAME}, not only space.",
            )
        about = {PLAN: draft.metadata[PLAN]} if PLAN in draft.metadata else {}
        event = {
            "id": f"{EVENT_PREFIX}{draft.id}/{new_event_id()}",
            "type": "reviewComment" if action == "approve" else "status",
            "content": message or _DONE[action],
            "createdAt": datetime.now(UTC),
            "metadata": {
                "draftId": draft.id,
                "userId": user_id,
                "action": action,
                "status": draft.status,
                "version": draft.version,
                **about,
            },
        }
        event_id = yield from add_event(self._name, draft.workflow_run_id, event)
        yield self._statement(
            _RECORD,
            id=draft.id,
            run=draft.workflow_run_id,
            user=user_id,
            action=action,
            message=message,
            version=draft.version,
            event=event_id,
        )

    def _statement(self, statement: LiteralString, **params: Any) -> Statement:
        schema = sql.Identifier(self._name)
        return Statement(sql.SQL(statement).format(schema=schema, columns=_COLUMNS), params)


def _found(rows: Rows, draft_id: str) -> Draft:
    if not rows:
        raise UnknownDraft(f"There is no draft `{shown_id(draft_id)}`")
    return Draft(**rows[0])
