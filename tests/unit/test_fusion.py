"""How ranked lists are joined."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecypher_procedures.fusion import K, fuse

LEGS = st.dictionaries(
    st.sampled_from(["graph", "sparse", "dense"]),
    st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0, 100)).map(
        lambda scores: sorted(scores.items(), key=lambda item: -item[1])
    ),
)


def test_ranks_add_up_by_the_published_formula():
    """The score is the sum of `1 / (60 + rank)` over the lists that have the item."""
    [both, alone] = fuse({"graph": [("a", 9), ("b", 1)], "sparse": [("b", 5)]})

    assert (both.id, both.score) == ("b", 1 / (K + 2) + 1 / (K + 1))
    assert (alone.id, alone.score) == ("a", 1 / (K + 1))
    assert both.ranks == {"graph": 2, "sparse": 1}


def test_weights_change_the_order():
    """A list with twice the weight wins."""
    legs = {"graph": [("a", 1)], "sparse": [("b", 1)]}

    assert [each.id for each in fuse(legs, weights={"sparse": 2})] == ["b", "a"]


def test_scores_are_made_comparable():
    """A weighted fusion divides by the largest, stretches to 0 and 1, or uses ranks."""
    legs = {"sparse": [("a", 8.0), ("b", 4.0), ("c", 2.0)]}

    def scores(normalization):
        fused = fuse(legs, method="weighted", normalization=normalization)
        return [round(each.score, 3) for each in fused]

    assert scores("max") == [1, 0.5, 0.25]
    assert scores("min_max") == [1, 0.333, 0]
    assert scores("rank") == [1, 0.667, 0.333]


@given(LEGS, st.sampled_from(["rrf", "weighted"]), st.sampled_from(["max", "min_max", "rank"]))
def test_fusion_neither_loses_nor_invents(legs, method, normalization):
    """Every item of a list is in the answer once, in order of scores, whatever the lists are."""
    fused = fuse(legs, method=method, normalization=normalization)

    items = {key for leg in legs.values() for key, _ in leg}
    assert sorted(each.id for each in fused) == sorted(items)
    assert all(one.score >= other.score for one, other in pairwise(fused))


def test_fusion_does_not_depend_on_the_order_of_the_lists():
    """Two lists give the same result whichever comes first, also between equal scores."""
    lists = {"prompt": [("b", 0), ("a", 0)], "chunks": [("a", 0), ("b", 0)]}
    turned = dict(reversed(lists.items()))

    assert [each.id for each in fuse(lists)] == [each.id for each in fuse(turned)] == ["a", "b"]


@given(LEGS)
def test_fusion_is_explained_by_its_ranks(legs):
    """A score is what its ranks say, and the order is that of scores, then of ids."""
    fused = fuse(legs)

    assert fused == sorted(fused, key=lambda each: (-each.score, each.id))
    for each in fused:
        places = {name: [key for key, _ in leg] for name, leg in legs.items()}
        assert each.ranks == {
            name: keys.index(each.id) + 1 for name, keys in places.items() if each.id in keys
        }
        assert each.score == pytest.approx(sum(1 / (K + rank) for rank in each.ranks.values()))
