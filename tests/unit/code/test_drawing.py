"""Maps of communities."""

import math
import random
from xml.etree import ElementTree as ET

import pytest

from sidecypher_procedures.code.drawing import Area, CodeMap, draw_map

SVG = "{http://www.w3.org/2000/svg}"


def drawn(code_map):
    return ET.fromstring(draw_map(code_map))


def some_map(seed, areas=30):
    """Return a map of communities of all sizes, with ties at random."""
    chance = random.Random(seed)
    return CodeMap(
        "shop",
        [Area(f"shop.part{n}", chance.randint(1, 2000), ["one", "other"]) for n in range(areas)],
        {
            (chance.randrange(areas), chance.randrange(areas)): chance.randint(1, 500)
            for _ in range(areas * 3)
        },
    )


@pytest.mark.parametrize("seed", range(5))
def test_circles_are_apart_and_inside(seed):
    """No circle covers another one, and all of them are inside the picture."""
    picture = drawn(some_map(seed))
    left, top, width, height = map(float, picture.get("viewBox").split())
    circles = [
        tuple(float(each.get(name)) for name in ("cx", "cy", "r"))
        for each in picture.iter(f"{SVG}circle")
    ]

    assert len(circles) == 30
    for index, (x, y, r) in enumerate(circles):
        assert left < x - r < x + r < left + width
        assert top < y - r < y + r < top + height
        for other_x, other_y, other_r in circles[:index]:
            assert math.hypot(x - other_x, y - other_y) > r + other_r


def test_what_is_tied_is_near():
    """A community is placed nearer to the one that it has relationships with."""
    areas = [Area(f"a{n}", 100, []) for n in range(12)]

    def distance(first, ties):
        picture = drawn(CodeMap("shop", areas, ties))
        circles = [*picture.iter(f"{SVG}circle")]
        places = [(float(each.get("cx")), float(each.get("cy"))) for each in circles]
        return math.dist(places[first], places[11])

    tied = [distance(first, {(first, 11): 50}) for first in range(11)]
    free = [distance(first, {}) for first in range(11)]

    assert all(one <= other for one, other in zip(tied, free, strict=True))
    assert sum(tied) < 0.8 * sum(free)


def test_equal_maps_have_equal_drawings():
    """The drawing depends on the map only, not on the order in which ties were found."""
    one = some_map(1)
    turned = CodeMap(one.title, one.areas, dict(reversed(one.ties.items())))

    assert draw_map(one) == draw_map(turned)


def test_names_are_text_and_no_markup():
    """Names with quotes, angle brackets and ampersands are drawn as they are."""
    name = """<b a="1">&'"""
    picture = drawn(CodeMap(name, [Area(name, 1, [name])], {}))

    texts = [each.text for each in picture.iter(f"{SVG}text")]
    assert texts[0] == name
    assert texts[2:] == [name, "1 entity", name]


def test_the_description_has_all_that_is_drawn():
    """Who cannot see the picture reads sizes, members and relationships in sentences."""
    areas = [Area("shop.cart", 7, ["add", "total"]), Area("shop.prices", 5, [])]
    picture = drawn(CodeMap("shop", areas, {(0, 1): 3}))

    assert picture.find(f"{SVG}desc").text == (
        "shop.cart has 7 entities, most used add, total. shop.prices has 5 entities. "
        "shop.cart uses shop.prices: 3."
    )


def test_a_repository_without_communities_has_an_empty_map():
    """Nothing to draw is no error: the title says what is shown."""
    picture = drawn(CodeMap("Communities of shop", [], {}))

    assert picture.find(f"{SVG}title").text == "Communities of shop"
    assert [*picture.iter(f"{SVG}circle")] == []


def test_each_community_keeps_its_strongest_ties():
    """Weak lines are left out where both ends have stronger ones; no community loses all."""
    areas = [Area(f"a{n}", 10, []) for n in range(8)]
    ties = {(a, b): a * 10 + b + 1 for a in range(8) for b in range(8) if a != b}
    picture = drawn(CodeMap("shop", areas, ties))

    lines = [*picture.iter(f"{SVG}line")]
    circles = {(each.get("cx"), each.get("cy")) for each in picture.iter(f"{SVG}circle")}
    ends = {(each.get(f"x{n}"), each.get(f"y{n}")) for each in lines for n in (1, 2)}

    assert len(lines) < 28
    assert ends == circles
