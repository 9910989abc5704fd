"""`rules.search`, `rules.facts`, and facts that end, on a real Neo4j."""

from datetime import timedelta

import pytest
from fix_waiting import wait_until
from neo4j.exceptions import ClientError

LLM = {"method": "llm", "model": "some-model"}
BOTH_FLAGS = """rules.remember({
    userId: 'ann', extraction: {method: 'llm'},
    relations: [{from: 'a', type: 'b', to: 'c', ended: true, replaces: true}]
})"""


def relate(rules, *relations, **more):
    """Remember relations given as (from, type, to, flags...); return the row."""
    found = [
        {"from": source, "type": kind, "to": target, **dict.fromkeys(flags, True)}
        for source, kind, target, *flags in relations
    ]
    return rules.one(
        "remember", {"userId": rules.user, "relations": found, "extraction": LLM, **more}
    )


def facts(rules, **options):
    """Tell each listed fact as (source, type, target), and whether it has ended."""
    return {
        (row["source"], row["type"], row["target"]): row["ended"] is not None
        for row in rules.call("facts", rules.user, options)
    }


def related(rules):
    """Tell the facts of the context of a task about Apollo."""
    found = rules.one("context", {"userId": rules.user, "prompt": "Apollo"})["graphContext"]
    return {(each["type"], each["to"].partition(",")[2]) for each in found["relations"]}


def found(rules, query, **options):
    return [(row["kind"], row["text"]) for row in rules.call("search", rules.user, query, options)]


def test_a_search_finds_rules_concepts_and_texts_of_one_user(rules, new_user):
    """Words are found in any case; what no other word than those of the query has is not."""
    other = new_user()
    for user in (rules, other):
        user.add("Write about Apollo in a formal tone", 0)
        relate(user, ("Apollo", "uses", "Redis"), text="We met at noon.")
    wait_until(lambda: len(found(rules, "apollo formal noon redis")) == 5)

    assert {*found(rules, "APOLLO!")} == {
        ("rule", "Write about Apollo in a formal tone"),
        ("extraction", "Write about Apollo in a formal tone"),
        ("concept", "Apollo"),
    }
    assert found(rules, "noon") == [("extraction", "We met at noon.")]
    assert found(rules, "absent") == found(rules, "?!") == found(rules, 'text:* OR "') == []
    assert len(found(rules, "apollo", limit=1)) == 1
    assert rules.call("search", "someone else", "apollo") == []


def test_a_retracted_rule_is_not_found(rules):
    """Its text stays in its extraction, which tells what was said."""
    rule = rules.add("formal tone", 0)
    wait_until(lambda: found(rules, "formal"))
    rules.call("retract", rule["id"], {"method": "rule"})

    assert found(rules, "formal") == [("extraction", "formal tone")]


def test_facts_are_listed_by_concept_and_type(rules, new_user):
    """Either end counts, in any spelling of its name; other users' facts are never listed."""
    relate(new_user(), ("Apollo", "uses", "Kafka"))
    relate(
        rules,
        ("Apollo", "uses", "Redis"),
        ("Apollo", "depends on", "Zeus"),
        ("Hermes", "uses", "Apollo"),
        ("Hermes", "uses", "Redis"),
    )

    assert len(facts(rules)) == 4
    assert {*facts(rules, concept=" APOLLO ")} == {
        ("Apollo", "USES", "Redis"),
        ("Apollo", "DEPENDS_ON", "Zeus"),
        ("Hermes", "USES", "Apollo"),
    }
    assert {*facts(rules, concept="apollo", type="depends-on")} == {
        ("Apollo", "DEPENDS_ON", "Zeus")
    }
    assert facts(rules, concept="unknown") == {}


def test_pages_of_facts_are_the_whole_list(rules):
    """Each `factId` is a cursor; pages share no row and leave none out."""
    relate(rules, *(("Apollo", "uses", f"part {number}") for number in range(7)))
    everything = [row["factId"] for row in rules.call("facts", rules.user)]

    for concept in ("", "Apollo"):
        listed, cursor = [], None
        while page := rules.call(
            "facts", rules.user, {"limit": 3, "cursor": cursor, "concept": concept}
        ):
            listed += [row["factId"] for row in page]
            cursor = listed[-1]
        assert listed == everything == sorted(everything)


def test_a_fact_that_replaces_ends_the_others_of_its_type(rules):
    """The old one is in no context, and listed as ended by the extraction that replaced it."""
    old = relate(rules, ("Apollo", "uses", "Redis"), ("Apollo", "depends on", "Zeus"))
    new = relate(rules, ("Apollo", "uses", "Kafka", "replaces"))

    assert new["ended"] == [row for row in old["facts"] if row in new["ended"]]
    assert len(new["ended"]) == 1
    assert related(rules) == {("USES", '"kafka"]'), ("DEPENDS_ON", '"zeus"]')}
    assert facts(rules, type="uses") == {("Apollo", "USES", "Kafka"): False}
    assert facts(rules, type="uses", ended=True) == {
        ("Apollo", "USES", "Redis"): True,
        ("Apollo", "USES", "Kafka"): False,
    }
    [ended] = [row for row in rules.call("facts", rules.user, {"ended": True}) if row["ended"]]
    assert ended["extractionId"] == new["extractionId"]


def test_what_was_known_before_an_end_holds(rules):
    """At an earlier time of knowledge the fact holds, in lists and in the context."""
    relate(rules, ("Apollo", "uses", "Redis"))
    relate(rules, ("Apollo", "uses", "Redis", "ended"))
    [row] = rules.call("facts", rules.user, {"ended": True})
    before = row["ended"] - timedelta(microseconds=1)

    assert facts(rules) == {}
    assert facts(rules, known=before) == {("Apollo", "USES", "Redis"): False}
    assert related(rules) == set()
    context = rules.one("context", {"userId": rules.user, "prompt": "Apollo"}, {"known": before})[
        "graphContext"
    ]
    assert len(context["relations"]) == 1


def test_an_ended_fact_that_is_stated_again_holds_again(rules):
    """What was said last counts; to end it twice changes nothing."""
    first = relate(rules, ("Apollo", "uses", "Redis"))
    assert relate(rules, ("Apollo", "uses", "Redis", "ended"))["ended"] == first["facts"]
    assert relate(rules, ("Apollo", "uses", "Redis", "ended"))["ended"] == []

    relate(rules, ("Apollo", "uses", "Redis"))

    assert facts(rules) == {("Apollo", "USES", "Redis"): False}
    assert related(rules) == {("USES", '"redis"]')}


def test_within_one_text_the_last_relation_counts(rules):
    """A relation ends those that the text states before it, and none that it states after it."""
    relate(
        rules,
        ("Apollo", "uses", "Redis"),
        ("Apollo", "uses", "Kafka", "replaces"),
        ("Apollo", "uses", "Zeus"),
    )

    assert facts(rules) == {
        ("Apollo", "USES", "Kafka"): False,
        ("Apollo", "USES", "Zeus"): False,
    }


def test_an_end_of_what_was_never_stated_ends_nothing(rules):
    """No fact is made of it, though its concepts are known now."""
    row = relate(rules, ("Apollo", "uses", "Redis", "ended"))

    assert (row["facts"], row["ended"], len(row["concepts"])) == ([], [], 2)
    assert facts(rules, ended=True) == {}


def test_a_forgotten_end_has_never_been(rules):
    """The fact holds again when the extraction that ended it is forgotten."""
    relate(rules, ("Apollo", "uses", "Redis"))
    row = relate(rules, ("Apollo", "uses", "Redis", "ended"))

    rules.call("forget", {"extractionId": row["extractionId"]})

    assert facts(rules) == {("Apollo", "USES", "Redis"): False}


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("rules.search('', 'x')", "SC-803"),
        ("rules.search('ann', ' ')", "SC-803"),
        ("rules.search('ann', $long)", "SC-803"),
        ("rules.search('ann', 'x', {limit: 0})", "SC-204"),
        ("rules.search('ann', 'x', {limit: 101})", "SC-204"),
        ("rules.facts(' ')", "SC-803"),
        ("rules.facts('ann', {known: 'yesterday'})", "SC-204"),
        (
            BOTH_FLAGS,
            "SC-204",
        ),
    ],
    ids=str,
)
def test_bad_questions_are_refused(session, call, code):
    """The error names the argument or the option."""
    with pytest.raises(ClientError, match=code):
        session.run(f"CALL {call}", long="x" * 10_001).consume()
