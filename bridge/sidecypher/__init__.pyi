# ruff: noqa: I001 -- several names on one line
from sidecypher.errors import (
    ArgumentError as ArgumentError,
    CallCancelled as CallCancelled,
    CallError as CallError,
    ContextExpired as ContextExpired,
    CypherError as CypherError,
    DeadlineExceeded as DeadlineExceeded,
    Neo4jUnavailable as Neo4jUnavailable,
    NoTransaction as NoTransaction,
    ProcedureError as ProcedureError,
    RowError as RowError,
    SidecypherError as SidecypherError,
    SignatureError as SignatureError,
    ValueTypeError as ValueTypeError,
    split_code as split_code,
)
from sidecypher.host.settings import neo4j_environment as neo4j_environment
from sidecypher.protocol.deadline import Deadline as Deadline
from sidecypher.sdk.backgrounds import SidecarContext as SidecarContext, background as background
from sidecypher.sdk.bolt import BoltClient as BoltClient, BoltTransaction as BoltTransaction
from sidecypher.sdk.caching import invalidate as invalidate
from sidecypher.sdk.checks import (
    CannotCheck as CannotCheck,
    Check as Check,
    CheckContext as CheckContext,
    Finding as Finding,
)
from sidecypher.sdk.context import Context as Context
from sidecypher.sdk.decorators import function as function, procedure as procedure
from sidecypher.sdk.encoded import EncodedRow as EncodedRow
from sidecypher.sdk.signature.columns import Columns as Columns
from sidecypher.sdk.signature.fields import Options as Options
from sidecypher.sdk.panels import (
    PanelAnswer as PanelAnswer,
    PanelBlock as PanelBlock,
    PanelMeter as PanelMeter,
    PanelPicture as PanelPicture,
    PanelQuestion as PanelQuestion,
    PanelRequest as PanelRequest,
    PanelTable as PanelTable,
    PanelText as PanelText,
    panel as panel,
)
from sidecypher.sdk.results import Record as Record, Result as Result
from sidecypher.sdk.steps import (
    Step as Step,
    StepContext as StepContext,
    Steps as Steps,
    step as step,
)
from sidecypher.sdk.webhooks import (
    WebhookAnswer as WebhookAnswer,
    WebhookRequest as WebhookRequest,
    webhook as webhook,
)
from sidecypher.values.annotations import (
    Description as Description,
    LocalDateTime as LocalDateTime,
    LocalTime as LocalTime,
)
from sidecypher.values.graph import Node as Node, Path as Path, Relationship as Relationship
from sidecypher.values.rows import Row as Row
from sidecypher.values.spatial import Point as Point
from sidecypher.values.temporal import (
    DateTime as DateTime,
    Duration as Duration,
    OpaqueTemporal as OpaqueTemporal,
    Time as Time,
)
