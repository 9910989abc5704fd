"""The tools of `sidecypher mcp` without a Neo4j: what an agent gets, and what is written."""

import contextlib
from types import SimpleNamespace

import mcp_types as types
import pytest

from sidecypher.cli.packages import list_tools
from sidecypher_procedures.agents.commands import mcp
from sidecypher_procedures.agents.errors import UnknownTool
from sidecypher_procedures.agents.mcp_tools import MOST_BYTES, MOST_ROWS, ProcedureTools

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    return "asyncio"


class Neo4j:
    """Stands in for `BoltClient`: gives rows, or raises; notes how its transaction ended."""

    def __init__(self, given):
        self.given = given
        self.ended = None

    @contextlib.asynccontextmanager
    async def transaction(self, *, seconds):
        try:
            yield self
        except BaseException:
            self.ended = "rolled back"
            raise
        self.ended = "committed"

    async def run(self, _statement, **_parameters):
        if isinstance(self.given, Exception):
            raise self.given
        return self.given


@pytest.fixture(scope="module")
def forget():
    """A tool that writes."""
    return next(tool for tool in list_tools() if tool.name == "rules.forget")


async def called(tool, neo4j):
    params = types.CallToolRequestParams(name="rules_forget", arguments={"what": {}})
    context = SimpleNamespace(request=None, meta=None)
    return await ProcedureTools([tool], neo4j).call(context, params)


async def test_rows_that_are_no_json_roll_back(forget):
    """A value that JSON cannot hold is an answer with its code, and nothing is written."""
    neo4j = Neo4j([{"id": object()}])

    answer = await called(forget, neo4j)

    assert answer.is_error
    assert answer.content[0].text.startswith("[SC-215] The column `id` is a Python object")
    assert neo4j.ended == "rolled back"


async def test_an_unknown_error_reaches_the_sdk_as_itself(forget):
    """The SDK sees its class, not a group that holds it."""
    neo4j = Neo4j(ZeroDivisionError("no row"))

    with pytest.raises(ZeroDivisionError, match="no row"):
        await called(forget, neo4j)
    assert neo4j.ended == "rolled back"


async def test_a_first_row_that_is_too_large_is_an_error(forget):
    """No answer can hold it, so its size is named, and nothing is written."""
    neo4j = Neo4j([{"id": "x" * MOST_BYTES}])

    answer = await called(forget, neo4j)

    assert answer.is_error
    text = answer.content[0].text
    # With the braces, quotes and the name of the column.
    assert f"{MOST_BYTES + 10} bytes" in text
    assert f"at most {MOST_BYTES}" in text
    assert "fewer columns" in text
    assert neo4j.ended == "rolled back"


@pytest.mark.parametrize(
    ("sizes", "kept"),
    [
        ([0] * MOST_ROWS, MOST_ROWS),
        ([0] * (MOST_ROWS + 1), MOST_ROWS),
        ([MOST_BYTES // 2, MOST_BYTES], 1),
        ([MOST_BYTES - 10], 1),
        ([], 0),
    ],
)
async def test_an_answer_has_as_many_rows_as_fit(forget, sizes, kept):
    """The first rows are shown, `more` says whether there were others, and all is written."""
    neo4j = Neo4j([{"id": "x" * size} for size in sizes])

    answer = await called(forget, neo4j)

    assert not answer.is_error
    assert len(answer.structured_content["rows"]) == kept
    assert answer.structured_content["more"] == (kept < len(sizes))
    assert neo4j.ended == "committed"


@pytest.mark.parametrize("options", [{"write": ["rules.*"]}, {"allow": ["*"], "write": ["no.*"]}])
def test_a_pattern_allows_no_writes(monkeypatch, options):
    """`rules.*` would offer `rules.forget` too, so each procedure that writes is named."""
    monkeypatch.setattr("asyncio.run", lambda work: work.close())

    with pytest.raises(UnknownTool, match="is a pattern") as caught:
        mcp(**options)
    assert "once for each procedure" in caught.value.hint


@pytest.mark.parametrize("options", [{"write": ["rules.no"]}, {"allow": ["no.*"]}])
def test_an_option_names_what_is_there(monkeypatch, options):
    """A typing mistake is refused before the server starts."""
    monkeypatch.setattr("asyncio.run", lambda work: work.close())

    with pytest.raises(UnknownTool, match="There is no procedure"):
        mcp(**options)
