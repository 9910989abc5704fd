"""Communities of a graph, without Neo4j."""

import os
import subprocess
import sys
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecypher_procedures.code.communities import Network, numbers, partition
from sidecypher_procedures.code.model import Algorithm, CodeGraph, Entity, Relationship

ALGORITHMS = [each for each in get_args(Algorithm) if each != "none"]


def entity(name, **more):
    values = {"type": "function", "path": "f.py", "language": "python"}
    return Entity(
        id=name,
        name=name.split(".")[-1],
        qualified_name=name,
        start_line=1,
        end_line=1,
        **(values | more),
    )


def tie(source, target, kind="calls", confidence=1.0):
    return Relationship(
        source=source,
        target=target,
        type=kind,
        resolution="exact",
        confidence=confidence,
        path="f.py",
        line=1,
        column=0,
    )


def graph(pairs, *further):
    names = sorted({name for pair in pairs for name in pair[:2]})
    return CodeGraph(
        entities=[*map(entity, names), *further], relationships=[tie(*pair) for pair in pairs]
    )


def clique(module, size=4):
    names = [f"{module}.f{number}" for number in range(size)]
    return [(one, other) for one in names for other in names if one < other]


TWO = [*clique("shop.cart"), *clique("shop.prices"), ("shop.cart.f0", "shop.prices.f0")]


def found(made, algorithm="louvain", stored=None):
    return partition(made, algorithm, digest="", stored=stored or {}).communities


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_two_groups_with_one_bridge_are_two_communities(algorithm):
    """Each algorithm finds what everybody sees, and names it by its modules."""
    communities = found(graph(TWO), algorithm)

    assert [(each.id, each.label) for each in communities] == [(0, "shop.cart"), (1, "shop.prices")]
    assert communities[0].members == [f"shop.cart.f{number}" for number in range(4)]


@pytest.mark.parametrize("algorithm", get_args(Algorithm))
def test_a_graph_without_relationships_has_no_communities(algorithm):
    """Nothing to tie entities together gives no community, and no error."""
    assert found(CodeGraph(), algorithm) == []
    assert found(CodeGraph(entities=[entity("a")]), algorithm) == []


def test_none_finds_nothing():
    """The algorithm `none` finds no communities where others do."""
    assert found(graph(TWO), "none") == []


def test_what_is_outside_ties_nothing():
    """External packages, imports as such and calls of oneself are no members."""
    outside = [entity("json", external=True, type="module"), entity("i", type="import")]
    pairs = [*TWO, ("shop.cart.f0", "shop.cart.f0")]
    pairs += [
        (f"shop.{module}.f1", name) for module in ("cart", "prices") for name in ("json", "i")
    ]
    made = graph(TWO)
    made.entities += outside
    made.relationships += [tie(*pair) for pair in pairs[len(TWO) :]]

    assert Network.of(made) == Network.of(graph(TWO))


def test_nothing_is_looked_for_if_no_relationship_has_changed():
    """An equal digest gives no partition; another algorithm or relationship gives one."""
    made = graph(TWO)
    digest = partition(made, "louvain", digest="", stored={}).digest

    assert partition(made, "louvain", digest=digest, stored={}) is None
    assert partition(made, "leiden", digest=digest, stored={}) is not None
    assert partition(graph(TWO[1:]), "louvain", digest=digest, stored={}) is not None
    made.entities.append(entity("alone"))
    assert partition(made, "louvain", digest=digest, stored={}) is None


def test_a_community_keeps_its_number():
    """Communities with members that Neo4j has keep its numbers; a new one gets the next."""
    stored = {4: ["shop.prices.f1", "shop.prices.f2"], 9: ["shop.gone"]}

    assert [each.id for each in found(graph(TWO), stored=stored)] == [10, 4]


def test_equal_labels_also_have_a_member():
    """Two communities of one module are told apart by what is used most in each."""
    pairs = [
        (f"shop.cart.{part}{one}", f"shop.cart.{part}{other}")
        for part in "ab"
        for one in range(4)
        for other in range(one + 1, 4)
    ]

    labels = [each.label for each in found(graph(pairs))]

    assert labels == ["shop.cart (a3)", "shop.cart (b3)"]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_another_process_finds_the_same(algorithm):
    """Communities do not depend on the seed of Python's hashes."""
    script = f"""
from unit.code.test_communities import *
pairs = [(f"m.f{{n * n % 97}}", f"m.f{{n * 7 % 101}}") for n in range(400)]
print(partition(graph([p for p in pairs if p[0] != p[1]]), {algorithm!r}, digest="", stored={{}}))
"""
    printed = {
        subprocess.run(
            [sys.executable, "-c", script],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }

    assert len(printed) == 1
    assert "Community(" in printed.pop()


ids = st.integers(0, 30).map("n{}".format)


@given(st.dictionaries(ids, st.integers(0, 5)), st.dictionaries(ids, st.integers(0, 50)))
@settings(max_examples=200)
def test_numbers_are_given_once_and_kept_by_the_most_members(now, before):
    """No two communities get one number, and equal ones keep theirs."""

    def grouped(homes):
        return {
            home: sorted(each for each in homes if homes[each] == home)
            for home in sorted(set(homes.values()))
        }

    groups, stored = sorted(grouped(now).values()), grouped(before)
    given_numbers = numbers(groups, stored)

    assert len(set(given_numbers)) == len(groups)
    assert sorted(numbers([*stored.values()], stored)) == sorted(stored)
    for number, members in zip(given_numbers, groups, strict=True):
        assert number not in stored or set(members) & set(stored[number])
