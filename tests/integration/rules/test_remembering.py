"""`rules.remember` on a real Neo4j."""

import pytest
from neo4j.exceptions import ClientError

LLM = {"method": "llm", "model": "some-model"}


def remember(rules, /, **values):
    [row] = rules.call("remember", {"userId": rules.user, **values})
    return row


def count(rules, pattern):
    return rules.session.run(f"MATCH {pattern} RETURN count(*) AS n").single()["n"]


def test_one_call_writes_one_extraction_with_all_that_was_found(rules):
    """Concepts, facts and rules hang on the same extraction, and are related as given."""
    row = remember(
        rules,
        sessionId="s1",
        artifactId="a1",
        entities=[{"name": "Apollo"}],
        relations=[{"from": "Apollo", "type": "depends on", "to": "PostgreSQL"}],
        rules=[{"text": "formal tone"}, {"text": "never use emojis"}],
        extraction=LLM,
        text="Apollo depends on PostgreSQL.",
    )

    extraction = row["extractionId"]
    assert row["concepts"] == [f'["{rules.user}","apollo"]', f'["{rules.user}","postgresql"]']
    assert [each["status"] for each in row["rules"]] == ["active", "active"]
    assert {each["extractionId"] for each in row["rules"]} == {extraction}
    for kind, number in {"Concept": 2, "Fact": 1, "StyleRule": 2}.items():
        asserted = f"(:Extraction {{extractionId: '{extraction}'}})-[:ASSERTED]->(:{kind})"
        assert count(rules, asserted) == number
    assert count(rules, "(:Artifact {id: 'a1'})-[:MENTIONS]->(:Concept)") == 2
    [related] = rules.session.run(
        "MATCH (a:Concept)-[r:RELATED_TO]->(b:Concept) "
        "RETURN a.name AS a, r.type AS type, b.name AS b, r.factId AS factId"
    ).data()
    assert related == {
        "a": "Apollo",
        "type": "DEPENDS_ON",
        "b": "PostgreSQL",
        "factId": row["facts"][0],
    }
    [snippet] = rules.session.run("MATCH (e:Extraction) RETURN e.rawSnippet AS text").value()
    assert snippet == "Apollo depends on PostgreSQL."


def test_what_is_remembered_twice_is_there_once(rules):
    """Concepts and facts are known by what they are; each call adds its own extraction."""
    found = {
        "entities": [{"name": "Apollo"}, {"name": " APOLLO "}],
        "relations": [{"from": "apollo", "type": "uses", "to": "Redis"}],
        "extraction": LLM,
    }
    first, second = remember(rules, **found), remember(rules, **found)

    assert first["concepts"] == second["concepts"]
    assert first["facts"] == second["facts"]
    assert count(rules, "(:Concept)") == 2
    assert count(rules, "()-[:RELATED_TO]->()") == 1
    assert count(rules, "(:Extraction)-[:ASSERTED]->(:Fact)") == 2
    assert count(rules, "(:Extraction)-[:CREATED]->(:Concept)") == 2


def test_rules_of_one_call_may_contradict(rules):
    """Each is stored, the contradiction is recorded, and what is said last is the most recent."""
    row = remember(rules, rules=[{"text": "formal tone"}, {"text": "casual tone"}], extraction=LLM)

    assert [each["status"] for each in row["rules"]] == ["contested", "active"]
    assert len(rules.edges()) == 1


def test_users_share_no_concepts(new_user):
    """The same name is another concept for another user."""
    found = {"entities": [{"name": "Apollo"}], "extraction": LLM}
    ann, bob = remember(new_user(), **found), remember(new_user(), **found)

    assert ann["concepts"] != bob["concepts"]


def test_plain_text_is_read_by_the_built_in_extractor(rules):
    """Without findings they are found in the texts; only the user's own words give rules."""
    row = remember(
        rules,
        userMessage="Never use emojis. Apollo depends on PostgreSQL.",
        assistantMessage="I will use a formal tone.",
    )

    assert [each["text"] for each in rules.active()] == ["Never use emojis"]
    assert [each["reason"] for each in row["rules"]] == ["recency"]
    assert len(row["facts"]) == 1
    method = rules.session.run("MATCH (e:Extraction) RETURN e.method AS method").single()["method"]
    assert method == "rule"


def test_what_a_text_justifies_is_kept_and_what_is_left_out_is_told(rules):
    """The extraction has the words of the rule and their place; what is for later is told."""
    told = "It rained. " * 150
    row = remember(rules, text=f"{told} Never use emojis. From next week answer in German.")

    assert row["leftOut"] == [{"text": "From next week answer in German", "reason": "future"}]
    [stored] = rules.session.run("MATCH (e:Extraction) RETURN e").value()
    start, end = stored["sourceSpan"]
    assert stored["rawSnippet"][start:end] == "Never use emojis"


def test_a_failure_half_way_leaves_nothing(rules):
    """A rule that cannot be written takes everything of its call with it."""
    rules.add("formal tone", id="r1")
    before = count(rules, "(n)")

    with pytest.raises(ClientError, match="SC-805"):
        remember(
            rules,
            entities=[{"name": "Apollo"}],
            rules=[{"text": "use emojis"}, {"text": "casual tone", "id": "r1"}],
            extraction=LLM,
        )

    assert count(rules, "(n)") == before


@pytest.mark.parametrize(
    ("values", "code", "told"),
    [
        ({}, "SC-204", "nothing to remember"),
        ({"text": " "}, "SC-204", "nothing to remember"),
        ({"colour": "red", "text": "x"}, "SC-204", "no field `colour`"),
        (
            {"entities": "Apollo", "extraction": LLM},
            "SC-204",
            "`input.entities`",
        ),
        (
            {"entities": [{}], "extraction": LLM},
            "SC-204",
            "`input.entities[0].name`",
        ),
        (
            {"entities": [{"name": "A"}] * 1001, "extraction": LLM},
            "SC-204",
            "`input.entities`",
        ),
        (
            {"relations": [{"from": "A", "to": "B"}], "extraction": LLM},
            "SC-204",
            "`input.relations[0].type`",
        ),
        ({"rules": [{"userId": "eve", "text": "x"}], "extraction": LLM}, "SC-204", "another user"),
        ({"rules": [{"text": "x", "scope": "session"}], "extraction": LLM}, "SC-204", "`scopeId`"),
        ({"entities": [{"name": "A"}]}, "SC-204", "lacks the `method`"),
        ({"text": "x", "extraction": LLM}, "SC-204", "another `method` than `rule`"),
        (
            {"text": "x" * 100_001},
            "SC-204",
            "`input.text`",
        ),
    ],
)
def test_input_that_cannot_be_used_is_refused(rules, values, code, told):
    """The error names what is wrong, and nothing is stored."""
    with pytest.raises(ClientError, match=code) as caught:
        remember(rules, **values)

    assert told in caught.value.message
    assert count(rules, "(n)") == 0


SAID = "Always use a casual tone."


@pytest.mark.parametrize(
    ("given", "scope", "scope_id"),
    [
        ({"sessionId": "s1"}, "global", ""),
        ({"sessionId": "s1", "scope": "session"}, "session", "s1"),
        ({"sessionId": "s1", "scope": "session", "scopeId": "s2"}, "session", "s2"),
        ({"scope": "project", "scopeId": "p1"}, "project", "p1"),
    ],
)
def test_rules_in_a_text_hold_in_the_scope_of_the_input(rules, given, scope, scope_id):
    """A rule of a session or project is neither seen nor followed anywhere else."""
    rules.add("formal tone", 1)
    remember(rules, userMessage=SAID, **given)
    statuses = {
        text: status for text, (status, _) in rules.standings(scope, scope_id, now=1e9).items()
    }
    elsewhere = rules.standings("session", "other", now=1e9)

    assert statuses[SAID.rstrip(".")] == "active"
    assert statuses["formal tone"] == ("contested" if scope == "global" else "shadowed")
    if scope != "global":
        assert elsewhere["formal tone"] == ("active", "recency")


def test_rules_that_were_found_may_name_another_scope(rules):
    """The scope of the input is for those that name none."""
    found = [{"text": "formal tone"}, {"text": "use tabs", "scope": "global"}]
    remember(rules, rules=found, scope="project", scopeId="p1", extraction=LLM)

    stated = rules.session.run(
        "MATCH (r:StyleRule {user: $user}) RETURN r.text, r.scope, r.scopeId ORDER BY r.text",
        user=rules.user,
    ).values()
    assert stated == [["formal tone", "project", "p1"], ["use tabs", "global", ""]]


@pytest.mark.parametrize(
    "given",
    [
        {"scope": "session"},
        {"scope": "project", "sessionId": "s1"},
        {"scopeId": "p1"},
        {"scope": "team", "scopeId": "t1"},
    ],
)
def test_a_scope_that_cannot_be_used_is_refused(rules, given):
    """Nothing is written to another scope than the one that was meant."""
    with pytest.raises(ClientError, match="SC-204"):
        remember(rules, userMessage=SAID, **given)
