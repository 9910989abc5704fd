"""`@panel`: what is refused at import, and how panels are loaded and replaced."""

import pytest

from sidecypher import PanelText, SignatureError, panel
from sidecypher.loading.loader import load

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
