"""What a model suspects, on a real Neo4j."""

import pytest
from neo4j.exceptions import ClientError

HEMINGWAY, PROUST = "write like Hemingway", "write like Proust"


def judgement(other, **more):
    return {"otherId": other, "score": 0.9, "model": "some-model", "reason": "styles", **more}


@pytest.fixture
def pair(rules):
    """Two rules of which the detector cannot tell; the second is later."""
    return rules.add(HEMINGWAY, 1)["id"], rules.add(PROUST, 2)["id"]


def test_a_model_is_asked_about_what_the_detector_does_not_know(rules, pair):
    """Rules of the scope that cannot be compared are listed, and no others."""
    first, second = pair
    rules.add("never use emojis", 3)
    rules.add("tell jokes", 3, scope="project", scopeId="p1")
    rows = rules.call("unknown", first)

    assert {row["otherText"] for row in rows} == {PROUST, "never use emojis"}
    assert {row["text"] for row in rows} == {HEMINGWAY}
    assert second in {row["otherId"] for row in rows}


def test_a_suspicion_contests_the_weaker_rule(rules, pair):
    """The loser is contested as suspected; the evidence names model and score."""
    first, second = pair
    [row] = rules.call("unknown", first)
    [standing] = rules.call("suspect", first, [judgement(second)], row["rev"])
    edge = rules.session.run("MATCH ()-[c:CONTRADICTS]->() RETURN c").single()["c"]

    assert (standing["status"], standing["reason"]) == ("contested", "suspected")
    assert rules.standings()[PROUST] == ("active", "recency")
    assert (edge["detector"], edge["detectorVersion"]) == ("judge", "some-model")
    assert (edge["score"], edge["verdict"]) == (0.9, "suspected")
    assert rules.call("unknown", first) == []


def test_a_scope_that_changed_meanwhile_takes_no_judgement(rules, pair):
    """What was written while the model was asked may matter, so it must be asked again."""
    first, second = pair
    [row] = rules.call("unknown", first)
    rules.add("tell jokes", 3)

    with pytest.raises(ClientError, match="SC-808"):
        rules.call("suspect", first, [judgement(second)], row["rev"])
    assert rules.edges() == []


def test_the_detector_is_not_overruled(rules, pair):
    """Of a pair that the detector knows nothing is suspected."""
    first, _ = pair
    negated = rules.add("never write like Hemingway", 3)["id"]
    rev = rules.call("unknown", first)[0]["rev"]

    with pytest.raises(ClientError, match=r"SC-806.*detector knows"):
        rules.call("suspect", first, [judgement(negated)], rev)


@pytest.mark.parametrize(
    ("values", "code", "told"),
    [
        ({"score": 1.5}, "SC-204", "`judgements[0].score`"),
        ({"score": None}, "SC-204", "`judgements[0].score`"),
        ({"model": ""}, "SC-204", "`judgements[0].model`"),
        ({"verdict": "conflict"}, "SC-204", "no field `verdict`"),
        ({"otherId": "nothing"}, "SC-804", "no rule `nothing`"),
    ],
)
def test_a_judgement_that_cannot_be_used_is_refused(rules, pair, values, code, told):
    """The error names what is wrong, and nothing is recorded."""
    first, second = pair
    rev = rules.call("unknown", first)[0]["rev"]

    with pytest.raises(ClientError, match=code) as caught:
        rules.call("suspect", first, [judgement(second) | values], rev)
    assert told in caught.value.message
    assert rules.edges() == []
