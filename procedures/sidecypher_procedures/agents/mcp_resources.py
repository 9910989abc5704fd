"""The resources of the MCP server: the schema of the graph, and pictures of runs and sessions."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp.shared.uri_template import UriTemplate

from sidecypher import BoltClient, SidecypherError
from sidecypher_procedures.runs.drawing import Timeline, draw_lines, draw_svg, read_timeline

SCHEMA: Final = "sidecypher://schema"

MOST_EVENTS: Final = 1000
"""Most events of a timeline, the first ones: a picture of them has about 300 kB."""

_CONSTRAINTS: Final = """
SHOW CONSTRAINTS YIELD labelsOrTypes, properties, type
RETURN labelsOrTypes[0] AS owner, properties, type ORDER BY owner, properties
"""
_INDEXES: Final = """
SHOW INDEXES YIELD labelsOrTypes, properties, type, name, owningConstraint
WHERE type <> 'LOOKUP' AND owningConstraint IS NULL
RETURN labelsOrTypes AS owners, properties, type, name ORDER BY owners, properties
"""
# Made of counts that Neo4j keeps, so it takes the same time however large the graph is.
_SHAPE: Final = """
CALL db.schema.visualization() YIELD nodes, relationships
RETURN [each IN nodes | labels(each)[0]] AS labels,
       [each IN relationships |
        [labels(startNode(each))[0], type(each), labels(endNode(each))[0]]] AS edges
"""

_Read = Callable[[str], Awaitable[str | None]]


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of resource whose URI holds an id.

    Attributes:
        procedures: What it calls; it is offered if all of them are.
        read: Returns its content by id, or None.
    """

    template: UriTemplate
    title: str
    description: str
    media_type: str
    procedures: frozenset[str]
    read: _Read


class Resources:
    """The resources of one server.

    Args:
        names: Names of the procedures that may be called.
        client: Calls them.
    """

    def __init__(self, names: Collection[str], client: BoltClient) -> None:
        self._client = client
        timeline = frozenset({"runs.get", "runs.timeline"})
        kinds = (
            _Kind(
                UriTemplate.parse("sidecypher://runs/{id}/timeline.txt"),
                "Timeline of a run",
                f"The first {MOST_EVENTS} events of a run with its branches as lanes, as text.",
                "text/plain",
                timeline,
                self._timeline_text,
            ),
            _Kind(
                UriTemplate.parse("sidecypher://runs/{id}/timeline.svg"),
                "Picture of a run",
                f"The first {MOST_EVENTS} events of a run with its branches as lanes.",
                "image/svg+xml",
                timeline,
                self._timeline_picture,
            ),
            _Kind(
                UriTemplate.parse("sidecypher://sessions/{id}/picture.svg"),
                "Picture of a session",
                "The workflow of a session and the way taken.",
                "image/svg+xml",
                frozenset({"session.picture"}),
                self._session_picture,
            ),
        )
        self._kinds = [kind for kind in kinds if kind.procedures <= set(names)]

    async def list(self, _context: Any, _params: Any) -> types.ListResourcesResult:
        """Answer `resources/list`: only the schema has a URI without an id."""
        schema = types.Resource(
            name="schema",
            uri=SCHEMA,
            title="Schema of the graph",
            description="Labels, relationships, keys and indexes, as they are now.",
            mime_type="text/markdown",
        )
        return types.ListResourcesResult(resources=[schema])

    async def list_templates(
        self, _context: Any, _params: Any
    ) -> types.ListResourceTemplatesResult:
        """Answer `resources/templates/list`."""
        return types.ListResourceTemplatesResult(
            resource_templates=[
                types.ResourceTemplate(
                    name=kind.title.lower().replace(" ", "-"),
                    uri_template=str(kind.template),
                    title=kind.title,
                    description=kind.description,
                    mime_type=kind.media_type,
                )
                for kind in self._kinds
            ]
        )

    async def read(
        self, _context: Any, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Answer `resources/read`."""
        uri = str(params.uri)
        try:
            media_type, text = await self._found(uri)
        except SidecypherError as error:
            raise MCPError(
                types.INTERNAL_ERROR, f"[{error.code}] {error.message} {error.hint}".rstrip()
            ) from None
        if text is None:
            raise MCPError(types.INVALID_PARAMS, "There is no such resource", data={"uri": uri})
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=uri, mime_type=media_type, text=text)]
        )

    async def _found(self, uri: str) -> tuple[str, str | None]:
        if uri == SCHEMA:
            return "text/markdown", await self._schema()
        for kind in self._kinds:
            matched = kind.template.match(uri)
            if matched is not None:
                return kind.media_type, await kind.read(str(matched["id"]))
        return "", None

    async def _schema(self) -> str:
        [shape] = await self._client.run(_SHAPE)
        constraints = await self._client.run(_CONSTRAINTS)
        indexes = await self._client.run(_INDEXES)
        return "\n".join(_schema_lines(shape, constraints, indexes)) + "\n"

    async def _timeline(self, run_id: str) -> Timeline | None:
        found = await self._client.run("CALL runs.get($id)", id=run_id)
        if not found:
            return None
        rows = await self._client.run(
            "CALL runs.timeline($id, {limit: $most})", id=run_id, most=MOST_EVENTS
        )
        return read_timeline(found[0]["run"], rows)

    async def _timeline_text(self, run_id: str) -> str | None:
        timeline = await self._timeline(run_id)
        return None if timeline is None else "\n".join(draw_lines(timeline)) + "\n"

    async def _timeline_picture(self, run_id: str) -> str | None:
        timeline = await self._timeline(run_id)
        return None if timeline is None else draw_svg(timeline)

    async def _session_picture(self, session_id: str) -> str | None:
        found = await self._client.run("CALL session.picture($id)", id=session_id)
        return str(found[0]["svg"]) if found else None


def _schema_lines(
    shape: Mapping[str, Any],
    constraints: Iterable[Mapping[str, Any]],
    indexes: Iterable[Mapping[str, Any]],
) -> Iterator[str]:
    yield "# Schema of the graph"
    yield "\nLabels, and relationships between them:\n"
    starts = {start for start, _, _ in shape["edges"]}
    yield from (f"- `(:{label})`" for label in sorted(set(shape["labels"]) - starts))
    yield from (f"- `(:{a})-[:{kind}]->(:{b})`" for a, kind, b in sorted(shape["edges"]))
    yield "\nConstraints:\n"
    for each in constraints:
        kind = each["type"].lower().replace("_", " ")
        yield f"- `{each['owner']} ({', '.join(each['properties'])})` {kind}"
    yield "\nIndexes, with their names where a procedure needs them:\n"
    for each in indexes:
        owners = "|".join(each["owners"] or ())
        kind = each["type"].lower()
        yield f"- `{owners} ({', '.join(each['properties'] or ())})` {kind} `{each['name']}`"
