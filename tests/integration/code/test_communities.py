"""Communities through Cypher."""

import pytest
from integration.code.test_indexing import SHOP
from neo4j.exceptions import ClientError

MAIL = {
    "mail__send_py": """
        def send(text):
            return sign(wrap(text))


        def wrap(text):
            return clean(text)


        def clean(text):
            return sign(text)


        def sign(text):
            return text
    """,
}


@pytest.fixture
def shop(repository):
    return repository(**SHOP, **MAIL)


def members(made):
    """Return the communities as sets of names, by number."""
    rows = made.call("communities", {"members": 1000})
    return {row["communityId"]: frozenset(row["members"]) for row in rows}


def test_functions_that_call_each_other_are_a_community(shop):
    """`code.communities` lists groups, the largest first, with the members used most."""
    shop.index()

    rows = shop.call("communities", {"members": 1})

    mail = next(row for row in rows if row["label"] == "mail.send")
    assert mail == {
        "communityId": mail["communityId"],
        "level": 0,
        "algorithm": "louvain",
        "size": 5,
        "label": "mail.send",
        "members": ["mail.send.sign"],
    }
    assert [row["size"] for row in rows] == sorted((row["size"] for row in rows), reverse=True)
    assert len(shop.call("communities", {"limit": 1})) == 1


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["louvain", "leiden", "label_propagation", "none"])
def test_the_algorithm_is_an_option(shop, algorithm):
    """Each algorithm replaces the communities of another; `none` removes them."""
    shop.index(communities="leiden" if algorithm == "louvain" else "louvain")

    shop.index(communities=algorithm)
    again = shop.index_anew(communities=algorithm)

    found = {row["algorithm"] for row in shop.call("communities")}
    assert found == ({algorithm} if algorithm != "none" else set())
    assert (again["written"], again["removed"]) == (0, 0)


@pytest.mark.slow
def test_an_edited_repository_has_the_communities_of_a_new_one(shop):
    """After edits the groups are those of a first indexing; old ones keep their numbers."""
    shop.index()
    before = members(shop)
    shop.write(
        mail__send_py=MAIL["mail__send_py"] + "    def spell(text): return sign(text)",
        extra_py="def one():\n    two()\n\n\ndef two():\n    one()\n",
    )
    (shop.folder / "main.py").unlink()
    shop.index()
    edited = members(shop)

    shop.call("drop")
    shop.index()

    assert set(members(shop).values()) == set(edited.values())
    mail = next(number for number, names in before.items() if "mail.send.sign" in names)
    assert "mail.send.spell" in edited[mail]


def test_a_dropped_repository_leaves_no_communities(shop, session):
    """`code.drop` deletes the communities, too."""
    shop.index()
    shop.call("drop")

    [count] = session.run("MATCH (c:Community {repo_id: $id}) RETURN count(c)", id=shop.id).single()

    assert count == 0


@pytest.mark.slow
def test_each_definition_is_in_one_community(shop, session):
    """What is tied to others has one community; external packages have none."""
    shop.write(uses_py="import json\n\n\ndef load():\n    return json.loads('1')\n")
    shop.index()

    rows = session.run(
        "MATCH (e:Entity {repo_id: $id}) WHERE e.type <> 'import' "
        "RETURN e.external AS external, COUNT { (e)-[:IN_COMMUNITY]->() } AS communities",
        id=shop.id,
    ).values()

    assert sorted(set(map(tuple, rows))) == [(False, 1), (True, 0)]


@pytest.mark.slow
def test_a_search_prefers_the_community_of_its_match(shop):
    """With `communityBoost`, what shares a community with a match gains that share of its score."""
    shop.index()
    options = {"legs": ["graph"], "limit": 100}
    homes = members(shop)
    mail = next(names for names in homes.values() if "mail.send.sign" in names)
    names = {name.rpartition(".")[2] for name in mail}

    plain = {row["name"]: row["score"] for row in shop.call("search", "sign", options)}
    boosted = {
        row["name"]: row["score"]
        for row in shop.call("search", "sign", options | {"communityBoost": 0.5})
    }

    assert {"send", "wrap", "clean"} <= plain.keys()
    for name, score in plain.items():
        assert boosted[name] == pytest.approx(score * (1.5 if name in names else 1))


@pytest.mark.parametrize("options", [{"limit": 0}, {"members": -1}, {"level": 0}])
def test_wrong_options_are_refused(shop, options):
    """Options that are unknown or out of range are errors that name them."""
    shop.index()

    with pytest.raises(ClientError, match=next(iter(options))):
        shop.call("communities", options)


def test_an_unknown_algorithm_is_refused(shop):
    """An algorithm that is not one of the four is an error that names the option."""
    with pytest.raises(ClientError, match="communities"):
        shop.index(communities="magic")


def test_communities_of_an_unknown_repository_are_an_error(code):
    """A repository that is not indexed is named."""
    with pytest.raises(ClientError, match=r"SC-971.*`nothing`"):
        code.call("communities", "nothing")


def test_a_map_shows_the_largest_communities_and_their_ties(shop):
    """The picture names each community, and the relationships between two of them."""
    shop.index()

    [row] = shop.call("map", {"limit": 2})

    rows = shop.call("communities", {"limit": 2})
    description = row["svg"].partition('<desc id="desc">')[2].partition("</desc>")[0]
    for each in rows:
        assert f"{each['label']} has {each['size']} entities" in description
    assert row["svg"].count("<circle ") == len(rows)


def test_a_map_of_an_unknown_repository_is_an_error(code):
    """What is not indexed has no picture."""
    with pytest.raises(ClientError, match=r"SC-971.*`nowhere`"):
        code.call("map", "nowhere")
