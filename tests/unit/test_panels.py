"""`@panel`: what is refused at import, how panels are loaded and replaced, and their values."""

import json
import math
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from fix_waiting import awaited

from sidecypher import PanelMeter, PanelTable, PanelText, RowError, SignatureError, panel
from sidecypher.loading.loader import load
from sidecypher.operations.panels import _blocks
from sidecypher.sdk.panels import Panel

PANEL = """
from sidecypher import PanelBlock, PanelRequest, PanelText, panel

@panel("orders", {title!r})
async def orders(request: PanelRequest) -> list[PanelBlock]:
    return [PanelText(text="none")]
"""


@pytest.mark.parametrize("name", ["", "Orders", "a/b", "a b", "1a", "<b>", "a" * 41, 5, "../x"])
def test_a_name_is_part_of_an_address(name):
    """Lower-case letters, digits and `-` are accepted, and nothing that an address would escape."""
    with pytest.raises(SignatureError, match="name that is not valid"):
        panel(name, "Orders")


def test_functions_are_async_and_take_one_argument():
    """Both the page's function and that of its answers, or the import fails."""

    def plain(request):
        return [PanelText(text="none")]

    async def two(request, more):
        return []

    async def fine(request):
        return []

    for function in (plain, two):
        with pytest.raises(SignatureError, match="panel `orders`"):
            panel("orders", "Orders")(function)
        with pytest.raises(SignatureError, match="answer of the panel `orders`"):
            panel("orders", "Orders", answer=function)(fine)
    assert panel("orders", "Orders", answer=fine)(fine) is fine


def test_a_panel_is_loaded_and_replaced(tmp_path):
    """It is found as procedures are; a reload replaces it, and a second of its name is refused."""
    (tmp_path / "own.py").write_text(PANEL.format(title="Orders"))
    loaded = load([tmp_path])
    assert loaded.panels["orders"].title == "Orders"

    (tmp_path / "own.py").write_text(PANEL.format(title="Latest orders"))
    again = load([tmp_path], loaded)
    (tmp_path / "second.py").write_text(PANEL.format(title="Other orders"))
    twice = load([tmp_path], again)

    assert again.panels["orders"].title == "Latest orders"
    assert twice.panels["orders"].title == "Latest orders"
    [failure] = [each for each in twice.failures if each.module == "second.py"]
    assert "already has the name `orders`" in failure.reason


async def sent(*blocks):
    """Give the blocks of a panel as the page gets them."""

    async def odd(_request):
        return blocks

    return json.loads(bytes(await _blocks(Panel("odd", odd, "Odd"), None)))


def table(cell):
    return PanelTable(title="T", columns=["C"], rows=[(cell,)])


EAST = timezone(timedelta(hours=2))


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ("<b>", "<b>"),
        (None, None),
        (True, True),
        (0.0004, 0.0004),
        (2**53 - 1, 2**53 - 1),
        (-(2**53), "-9007199254740992"),
        (datetime(2026, 7, 1, 12, tzinfo=EAST), {"at": "2026-07-01T10:00:00+00:00"}),
        (datetime(2026, 7, 1, 12, tzinfo=UTC), {"at": "2026-07-01T12:00:00+00:00"}),
        (datetime(2026, 7, 1, 12), {"at": "2026-07-01T12:00:00"}),  # noqa: DTZ001 - has no zone
    ],
)
@awaited
async def test_a_cell_is_sent_as_the_page_shows_it(cell, shown):
    """A time with a zone is sent in UTC; a number that the page would round is sent as text."""
    [block] = await sent(table(cell))

    assert block["rows"] == [[shown]]


@pytest.mark.parametrize("cell", [[1], {"a": 1}, b"x", Decimal(1), math.nan, -math.inf])
@awaited
async def test_a_cell_that_the_page_cannot_show_is_refused(cell):
    """The error names the panel."""
    with pytest.raises(RowError, match="A table of the panel `odd` has"):
        await sent(table(cell))


@pytest.mark.parametrize("number", [math.nan, math.inf, None, "5"])
@awaited
async def test_a_meter_has_finite_numbers(number):
    """Both its value and its limit."""
    for block in (
        PanelMeter(title="M", value=number, limit=1),
        PanelMeter(title="M", value=1, limit=number),
    ):
        with pytest.raises(RowError, match="A meter of the panel `odd` has"):
            await sent(block)
