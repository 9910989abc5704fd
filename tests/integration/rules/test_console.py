"""Recorded contradictions on the console, with a real Neo4j behind it."""

from sidecypher_procedures.rules.console import _LIST


def test_a_contradiction_is_listed_and_explained(blocks, rules):
    """The panel has the texts and the reason, and why each of both rules holds or not."""
    first = rules.add("Use bullet points", 1)
    later = rules.add("No bullet points", 2)
    assert later["contradicts"] == [first["id"]]

    [table] = blocks("contradictions")
    row, key = table["rows"][0], table["ids"][0]
    text, *explanations = blocks("contradictions", key)

    assert row[:2] == ["No bullet points", "Use bullet points"]
    assert row[3] == rules.user
    assert "“No bullet points” contradicts “Use bullet points”" in text["text"]
    assert row[2] in text["text"]
    for rule, explanation in zip((later, first), explanations, strict=True):
        expected = [[each["step"], each["text"]] for each in rules.call("explain", rule["id"])]
        assert explanation["rows"] == expected
        assert expected
    assert blocks("contradictions", "none")[0]["text"] == "There is no contradiction of this key."


def test_the_list_begins_at_an_index(session):
    """The panel is read every half minute, and does not look at all nodes for it."""
    summary = session.run(f"EXPLAIN {_LIST}", limit=1).consume()

    plan = str(summary.plan)
    assert "DirectedRelationshipIndexScan" in plan
    assert "NodeByLabelScan" not in plan
    assert "AllNodesScan" not in plan
