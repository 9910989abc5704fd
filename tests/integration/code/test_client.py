"""The Python API of code graphs, on a real Neo4j."""

import shutil
from functools import wraps

import fix_waiting
import pytest
from docs.pages import ROOT, blocks
from pydantic import ValidationError

from sidecypher import CypherError, Neo4jUnavailable
from sidecypher_procedures.code.client import (
    Entity,
    GraphBuilder,
    GraphRetriever,
    GraphSearchConfig,
    GraphStorageConfig,
    Neo4jClient,
    Relationship,
)
from sidecypher_procedures.code.errors import (
    BadQuery,
    ForeignId,
    InvalidId,
    NotConnected,
    PathNotAllowed,
    RepositoryBusy,
    UnknownChunk,
    UnknownEntity,
    UnknownRepository,
)

PAGE = ROOT / "docs/code-python.md"
ODD = 'it\'s `odd` "name" \\ {{$x}} ü'


def connected(test):
    """Run an async test while its client is connected, on an event loop of its own."""

    @fix_waiting.awaited
    @wraps(test)
    async def run(*arguments, client, **fixtures):
        async with client:
            await test(*arguments, client=client, **fixtures)

    return run


@pytest.fixture
def config(server, session):
    """The configuration of the shared server, which a `session` has emptied."""
    return GraphStorageConfig(neo4j_uri=server.facts["bolt"], neo4j_password=server.password)


@pytest.fixture
def client(config):
    return Neo4jClient.of(config)


@pytest.fixture
def shop(tmp_path):
    """The folder of the page's examples."""
    return shutil.copytree(ROOT / "docs/shop", tmp_path / "shop")


def function(name, **fields):
    given = {"id": f"r:{name}", "name": name, "type": "function", "file_path": "a.py"}
    return Entity(**given | {"chunk_id": f"r:chunk of {name}"} | fields)


def call(source, target, **fields):
    return Relationship(source=f"r:{source}", target=f"r:{target}", type="calls", **fields)


def names(found):
    return [each.name for each in found]


async def dump(client):
    """Return all that Neo4j has, apart from what is about writing itself."""
    nodes = await client.execute_cypher(
        "MATCH (n) WHERE NOT n:Repo RETURN labels(n) AS labels, properties(n) AS p"
        " ORDER BY labels, p.id"
    )
    links = await client.execute_cypher(
        "MATCH (a)-[r]->(b) RETURN a.id AS a, type(r) AS type, b.id AS b, properties(r) AS p"
        " ORDER BY a, type, b"
    )
    return nodes, links


@connected
async def test_a_built_graph_is_counted_searched_and_expanded(client, shop):
    """A folder is built, and then answers as it does through the procedures."""
    retriever = GraphRetriever(client)

    stats = await GraphBuilder(client).build_graph("shop", shop)
    [first, *_] = found = await retriever.search("shop", "price_of")
    around = await retriever.expand_context("shop", [first.chunk_id], GraphSearchConfig(max_hops=1))

    assert stats == await client.get_graph_stats("shop")
    assert stats.entities == sum(stats.entity_types.values()) == 14
    assert stats.relationship_types["calls"] == 8
    assert stats.communities == len(await client.get_communities("shop")) == 2
    assert (first.name, first.file_path, first.hops) == ("price_of", "prices.py", 0)
    assert first.content.startswith("def price_of")
    assert first.why == ["prices.price_of is named `price_of`"]
    assert "total" in names(found)
    assert sorted(names(around)) == ["full_price", "half_price", "prices", "total"]
    assert {each.hops for each in around} == {1}


@connected
async def test_a_search_is_that_of_the_procedure(client, session, shop):
    """`graph_search` has the rows of `code.search` with the leg `graph`, in the same order."""
    await GraphBuilder(client).build_graph("shop", shop)

    found = await client.graph_search("shop", "what is the total price", 2, 30)
    rows = session.run(
        "CALL code.search('shop', 'what is the total price', {legs: ['graph']})"
    ).data()

    assert [(each.chunk_id, each.score, each.why) for each in found] == [
        (row["chunkId"], row["score"], row["why"]) for row in rows
    ]


@pytest.mark.slow
@connected
async def test_only_the_configured_types_are_kept(client, shop):
    """Entities and relationships of other types are not stored, and go when they are excluded."""
    build = GraphBuilder(client).build_graph
    await build("shop", shop)

    stats = await build(
        "shop",
        shop,
        GraphStorageConfig(
            entity_types=["function"], relationship_types=["calls"], include_communities=False
        ),
    )

    assert [*stats.entity_types] == ["function"]
    assert [*stats.relationship_types] == ["calls"]
    assert stats.communities == 0


@connected
async def test_upserts_are_idempotent(client):
    """The same entities and relationships once more change nothing."""

    async def upsert():
        await client.upsert_entities("r", [function("a"), function("b")])
        await client.upsert_entity("r", function("c"))
        await client.upsert_relationships("r", [call("a", "b"), call("b", "c", line=7)])
        await client.upsert_relationship("r", call("a", "b"))
        return await dump(client)

    once = await upsert()

    assert await upsert() == once
    stats = await client.get_graph_stats("r")
    assert (stats.entities, stats.relationships, stats.communities) == (3, 2, 0)


@connected
async def test_an_upsert_replaces_what_has_the_same_id(client):
    """Name, type, file and chunk are those of the last upsert; without a chunk it is not found."""
    await client.upsert_entity("r", function("a"))

    await client.upsert_entity("r", function("b", id="r:a", chunk_id="r:other"))
    moved = await client.graph_search("r", "b")
    await client.upsert_entity("r", function("b", id="r:a", chunk_id=None))

    assert [(each.name, each.chunk_id, each.content) for each in moved] == [("b", "r:other", "")]
    assert await client.graph_search("r", "b") == []
    assert (await client.get_graph_stats("r")).entities == 1


@connected
async def test_upserted_entities_are_found_over_their_relationships(client):
    """A search follows upserted relationships as it does those of files, up to its hops."""
    await client.upsert_entities("r", [function(name) for name in ("start", "middle", "end")])
    await client.upsert_relationships("r", [call("start", "middle"), call("middle", "end")])

    assert names(await client.graph_search("r", "start", max_hops=1)) == ["start", "middle"]
    assert names(await client.graph_search("r", "start", max_hops=2)) == ["start", "middle", "end"]
    assert names(await client.graph_search("r", "start", max_hops=2, top_k=1)) == ["start"]


@connected
async def test_names_are_data(client):
    """Quotes, backticks, braces and backslashes in names and ids are kept, and run nothing."""
    odd = "it's`\"\\{$x}"
    await client.upsert_entity(odd, Entity(id=odd, name=ODD, type="class", file_path=ODD))
    await client.upsert_relationship(odd, Relationship(source=odd, target=odd, type="references"))

    [row] = await client.execute_cypher(
        "MATCH (e:Entity {id: $id})-[:REFERENCES]->(e) RETURN e.name AS name, e.file_path AS path",
        {"id": odd},
    )

    assert row == {"name": ODD, "path": ODD}
    assert await client.graph_search(odd, ODD) == []
    assert (await client.get_graph_stats(odd)).entities == 1


@pytest.mark.slow
@connected
async def test_an_indexing_removes_what_was_upserted(client, shop):
    """After a build the graph is that of the files, whatever was upserted before."""
    builder = GraphBuilder(client)
    await builder.build_graph("shop", shop)
    before = await dump(client)
    [entity] = await client.execute_cypher(
        "MATCH (e:Entity {name: 'price_of', type: 'function'}) RETURN e.id AS id"
    )
    extra = function("extra", id="extra", chunk_id="extra chunk")
    changed = function("renamed", id=entity["id"], chunk_id=None)
    await client.upsert_entities("shop", [extra, changed])
    link = Relationship(source="extra", target=entity["id"], type="calls")
    await client.upsert_relationship("shop", link)
    assert await dump(client) != before

    await builder.build_graph("shop", shop)

    assert await dump(client) == before


@connected
async def test_communities_are_detected_on_what_the_graph_has(client):
    """Upserted entities that call each other are a community; another algorithm replaces it."""
    groups = [["a1", "a2", "a3"], ["b1", "b2", "b3"]]
    await client.upsert_entities("r", [function(name) for group in groups for name in group])
    await client.upsert_relationships(
        "r", [call(one, other) for group in groups for one in group for other in group]
    )

    found = await client.detect_communities("r")
    again = await client.detect_communities("r")
    listed = await client.get_communities("r", members=3)
    other = await client.detect_communities("r", "label_propagation")

    assert sorted(sorted(each.members) for each in found) == groups
    assert found == again == listed
    assert {each.algorithm for each in other} == {"label_propagation"}
    assert len(await client.get_communities("r", limit=1)) == 1
    assert (await client.get_graph_stats("r")).communities == len(other) == 2
    assert await client.detect_communities("r", "none") == []


@pytest.mark.slow
@connected
async def test_detection_finds_what_the_indexing_has_found(client, shop):
    """On the graph of a folder it changes nothing, so the next indexing has nothing to write."""
    builder = GraphBuilder(client)
    await builder.build_graph("shop", shop)
    before = await dump(client)

    await client.detect_communities("shop")

    assert await dump(client) == before


@connected
async def test_a_repository_that_is_written_is_left_alone(client):
    """While an indexing writes, nothing is upserted or detected; both say so."""
    await client.upsert_entity("r", function("a"))
    await client.execute_cypher(
        "MATCH (r:Repo) SET r.status = 'writing',"
        " r.lease_until = datetime.realtime() + duration('PT1H')"
    )
    before = await dump(client)

    for refused in (
        client.upsert_entity("r", function("b")),
        client.upsert_relationship("r", call("a", "a")),
        client.detect_communities("r"),
    ):
        with pytest.raises(RepositoryBusy, match="`r`"):
            await refused
    assert await dump(client) == before
    [match] = await client.graph_search("r", "a")
    assert match.notices == ["an indexing writes the repository: parts may be missing"]


@connected
async def test_an_id_belongs_to_one_repository(client):
    """An entity or a chunk of another repository is not taken over, and nothing is written."""
    await client.upsert_entity("r", function("a"))
    before = await dump(client)

    with pytest.raises(ForeignId, match="`r:a`"):
        await client.upsert_entities("s", [function("new"), function("a")])
    with pytest.raises(ForeignId, match="`r:chunk of a`"):
        await client.upsert_entity("s", function("b", chunk_id="r:chunk of a"))

    assert await dump(client) == before
    with pytest.raises(UnknownRepository):
        await client.get_graph_stats("s")


@connected
async def test_a_relationship_needs_both_ends(client):
    """With an unknown end none of the relationships is written."""
    await client.upsert_entity("r", function("a"))

    with pytest.raises(UnknownEntity, match="`r:nothing`"):
        await client.upsert_relationships("r", [call("a", "a"), call("a", "nothing")])

    assert (await client.get_graph_stats("r")).relationships == 0


@connected
async def test_an_unknown_repository_is_named(client):
    """Each method that needs a repository says which one there is not."""
    for unknown in (
        client.graph_search("nothing", "a"),
        client.expand("nothing", ["a"]),
        client.get_graph_stats("nothing"),
        client.get_communities("nothing"),
        client.detect_communities("nothing"),
        client.upsert_relationship("nothing", call("a", "b")),
    ):
        with pytest.raises(UnknownRepository, match="`nothing`"):
            await unknown


@pytest.mark.parametrize("hops", [0, 6, -1])
@pytest.mark.parametrize("method", ["graph_search", "expand"])
@connected
async def test_hops_are_one_to_five(client, method, hops):
    """Other hops are refused by the model before anything is asked."""
    with pytest.raises(ValidationError, match="max_hops"):
        await getattr(client, method)("r", "a", hops)
    with pytest.raises(ValidationError, match="max_hops"):
        GraphSearchConfig(max_hops=hops)


@pytest.mark.parametrize(
    "query", ["", "  \n", "?!", "a " * 50_000], ids=["empty", "space", "no word", "100 kB"]
)
@connected
async def test_a_query_has_words_and_an_end(client, query):
    """A query without a word, and one of 100 kB, are refused."""
    await client.upsert_entity("r", function("a"))

    with pytest.raises(BadQuery, match="query"):
        await client.graph_search("r", query)


@connected
async def test_bad_input_is_refused(client, tmp_path):
    """Empty ids, chunks and folders that are not there, and broken statements are errors."""
    await client.upsert_entity("r", function("a"))

    with pytest.raises(UnknownChunk):
        await client.expand("r", ["nothing"])
    with pytest.raises(InvalidId):
        await client.upsert_entity(" ", function("b"))
    with pytest.raises(PathNotAllowed):
        await GraphBuilder(client).build_graph("s", tmp_path / "nothing")
    with pytest.raises(CypherError, match="Invalid input"):
        await client.execute_cypher("MTCH (n) RETURN n")
    assert await client.expand("r", []) == []


@fix_waiting.awaited
async def test_a_client_that_is_not_connected_says_so(config):
    """Before `connect` and after `disconnect`, each method is refused; both may be repeated."""
    client = Neo4jClient.of(config)
    await client.disconnect()

    with pytest.raises(NotConnected):
        await client.execute_cypher("RETURN 1")
    await client.connect()
    await client.connect()
    assert await client.execute_cypher("RETURN $x AS x", {"x": [1, None]}) == [{"x": [1, None]}]
    await client.disconnect()
    for refused in (
        client.graph_search("r", "a"),
        client.upsert_entity("r", function("a")),
        client.detect_communities("r"),
        GraphBuilder(client).build_graph("r", ROOT / "docs/shop"),
    ):
        with pytest.raises(NotConnected, match="not connected"):
            await refused


@fix_waiting.awaited
async def test_connecting_fails_with_a_reason(config):
    """A wrong password, server, scheme or database is an error that shows no password."""
    wrong = {
        "neo4j_password": "wrong-password",
        "neo4j_uri": "bolt://127.0.0.1:9",
        "neo4j_database": "nowhere",
    }
    for name, value in [*wrong.items(), ("neo4j_uri", "nonsense://x")]:
        client = Neo4jClient.of(config.model_copy(update={name: value}))
        with pytest.raises((Neo4jUnavailable, CypherError)) as caught:
            await client.connect()
        assert "wrong-password" not in str(caught.value)
        with pytest.raises(NotConnected):
            await client.execute_cypher("RETURN 1")


@fix_waiting.awaited
async def test_statements_run_in_the_named_database(config):
    """`neo4j_database` is honoured: the database `system` takes nothing but its own commands."""
    there = Neo4jClient.of(config.model_copy(update={"neo4j_database": "system"}))

    with pytest.raises(CypherError, match="system command"):
        await there.connect()


@fix_waiting.awaited
async def test_the_example_of_the_page_runs(config, capsys):
    """The program of the page prints what stands below it."""
    [program] = blocks("python neo4j", pages=[PAGE])
    shown = next(block.text for block in blocks("text", pages=[PAGE]) if block.line > program.line)
    text = program.text.replace("bolt://localhost:7687", config.neo4j_uri)
    text = text.replace('"secret"', repr(config.neo4j_password))
    text = text.replace("/srv/code/shop", str(ROOT / "docs/shop"))
    main, _, _ = text.rpartition("asyncio.run")
    module = {}
    exec(main, module)

    await module["main"]()

    assert capsys.readouterr().out == shown
