"""The trigger `rules-guard`, on a real Neo4j with a real APOC."""

import re
from dataclasses import replace

import neo4j
import pytest
from neo4j.exceptions import ClientError

from sidecypher_schema import connect, shipped_scripts
from sidecypher_schema.apoc import GIVEN, find_apoc

[GUARD] = [each for each in shipped_scripts().triggers if each.name == "rules-guard"]

STATED = """
    MERGE (u:User {id: 'ann'})
    CREATE (e:Extraction {extractionId: $id + '-said', method: 'rule'})
    CREATE (r:StyleRule {ruleId: $id, user: 'ann', text: $text})
    CREATE (e)-[:CREATED]->(r), (e)-[:ASSERTED]->(r)
    CREATE (u)-[:PREFERS {
        since: datetime('2026-01-01') + duration({seconds: $since}), scope: 'global',
        temporalMarker: 'current', extractionId: e.extractionId
    }]->(r)
"""
RELATED = """
    CREATE (e:Extraction {extractionId: 'seen', method: 'rule'})
    CREATE (a:Concept {key: 'a', user: 'ann'}), (b:Concept {key: 'b', user: 'ann'})
    CREATE (f:Fact {factId: 'ab', user: 'ann', type: 'IS', fromKey: 'a', toKey: 'b'})
    CREATE (e)-[:CREATED]->(a), (e)-[:CREATED]->(b), (e)-[:ASSERTED]->(f)
    CREATE (a)-[:RELATED_TO {factId: 'ab', type: 'IS'}]->(b)
"""


@pytest.fixture
def graph(session):
    """A graph with a checked rule `formal` and a relation of the concepts `a` and `b`."""
    state(session, "formal", "Use a formal tone")
    session.run(RELATED).consume()
    return session


@pytest.fixture
def guarded_by(session, driver):
    """Have the guard call another procedure than `rules.record`."""
    apoc = find_apoc(connect(driver))

    def install(procedure):
        text = GUARD.text.replace("rules.record", procedure)
        apoc.install([replace(GUARD, text=text)], "sidecypher")

    yield install
    install("rules.record")


def state(session, rule_id, text, since=1):
    """Write a rule as somebody would by plain Cypher."""
    session.run(STATED, id=rule_id, text=text, since=since).consume()


def count(session):
    return session.run("MATCH (n) RETURN count(n)").single().value()


def refusal(session, statement, **parameters):
    """Return the text with which a statement is refused; it must have left nothing."""
    before = count(session)
    with pytest.raises(ClientError) as refused:
        session.run(statement, parameters).consume()
    assert refused.value.code == "Neo.ClientError.Transaction.TransactionHookFailed"
    assert count(session) == before
    return refused.value.message


# Provenance


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("CREATE (:StyleRule {ruleId: 'x', user: 'ann', text: 'Be brief'})", "The StyleRule `x`"),
        ("CREATE (:StyleRule)", "The StyleRule `without an id`"),
        ("CREATE (:Concept {key: 'x'})", "The Concept `x`"),
        ("CREATE (:Fact {factId: 'x'})", "The Fact `x`"),
        ("MATCH (u:User) SET u:Concept", "The Concept `without an id`"),
        (
            "CREATE (:Concept {key: 'x'})<-[:ASSERTED]-(:Extraction)",
            "The Concept `x`",
        ),
        (
            "CREATE (:Concept {key: 'x'})<-[:MENTIONS]-(:Extraction {extractionId: 'y'})",
            "The Concept `x`",
        ),
    ],
)
def test_a_fact_without_an_extraction_is_refused(graph, statement, named):
    """A new concept, rule or fact names the Extraction it needs, and how to write it."""
    told = refusal(graph, statement)

    assert f"{named} has no Extraction. Write it by rules.add or rules.remember, or create" in told


@pytest.mark.parametrize("given", ["{}", "{extractionId: 'nobody'}", "{extractionId: 'seen'}"])
def test_a_preference_names_an_extraction_of_its_rule(graph, given):
    """A PREFERS needs the extractionId of an Extraction that created or asserted that rule."""
    found = "MATCH (u:User {id: 'ann'}), (r:StyleRule {ruleId: 'formal'}) "
    told = refusal(graph, f"{found} CREATE (u)-[:PREFERS {given}]->(r)")

    assert "A PREFERS of the rule `formal` has no extractionId of an Extraction that" in told


@pytest.mark.parametrize(
    "change", ["SET p.extractionId = 'seen'", "SET p.extractionId = null", "SET p = {}"]
)
def test_a_preference_keeps_its_extraction(graph, change):
    """The extractionId of a stored PREFERS cannot become one of another fact, or go."""
    told = refusal(graph, f"MATCH (:User)-[p:PREFERS]->(:StyleRule) {change}")

    assert "of the rule `formal`" in told


@pytest.mark.parametrize(
    "statement",
    [
        "MATCH (a:Concept {key: 'a'}), (b:Concept {key: 'b'}) CREATE (a)-[:RELATED_TO]->(b)",
        (
            "MATCH (a:Concept {key: 'a'}), (b:Concept {key: 'b'}) "
            "CREATE (b)-[:RELATED_TO {factId: 'ab'}]->(a)"
        ),
        "MATCH (:Concept)-[r:RELATED_TO]->() SET r.factId = 'ba'",
        "MATCH (:Concept)-[r:RELATED_TO]->() REMOVE r.factId",
    ],
)
def test_a_relation_of_concepts_is_that_of_a_fact(graph, statement):
    """A RELATED_TO between concepts carries the factId of a Fact about these two."""
    assert "RELATED_TO from the Concept" in refusal(graph, statement)


def test_a_fact_goes_with_its_relation(graph):
    """A Fact cannot be deleted while its RELATED_TO stays; together they can."""
    told = refusal(graph, "MATCH (f:Fact) DETACH DELETE f")
    assert "The RELATED_TO of the Fact `ab` would stay without it" in told

    graph.run(
        "MATCH (f:Fact {factId: 'ab'}) DETACH DELETE f "
        "WITH count(*) AS n MATCH ()-[r:RELATED_TO]->() DELETE r"
    ).consume()

    assert graph.run("MATCH (f:Fact) RETURN count(f)").single().value() == 0


@pytest.mark.parametrize(
    "statement",
    [
        "MATCH (e:Extraction) DETACH DELETE e",
        "MATCH (e:Extraction {extractionId: 'formal-said'}) DETACH DELETE e",
        "MATCH (:Extraction)-[c:CREATED]->(:StyleRule) DELETE c",
        "MATCH (:Extraction)-[a:ASSERTED]->(:Fact) DELETE a",
        "MATCH (e:Extraction {extractionId: 'seen'}), (c:Concept {key: 'a'}) DETACH DELETE e, c",
    ],
)
def test_provenance_of_a_fact_that_stays_cannot_go(graph, statement):
    """An Extraction, or one of its relationships, is kept as long as what hangs on it."""
    told = refusal(graph, statement)

    assert "would be gone while that stays. Delete both in the same transaction, or keep" in told


def test_an_extraction_may_go_if_another_one_states_the_same(graph):
    """Concepts and facts keep the other one; a rule has preferences too, so it is refused."""
    again = "CREATE (e:Extraction {extractionId: 'again', method: 'rule'}) WITH e "
    graph.run(again + "MATCH (x:Concept|Fact|StyleRule) CREATE (e)-[:ASSERTED]->(x)").consume()

    graph.run("MATCH (e:Extraction {extractionId: 'seen'}) DETACH DELETE e").consume()
    told = refusal(graph, "MATCH (e:Extraction {extractionId: 'formal-said'}) DETACH DELETE e")

    assert "`formal`" in told
    assert "rules.forget deletes an Extraction" in told
    assert "would be gone" in refusal(graph, "MATCH (e:Extraction) DETACH DELETE e")


@pytest.mark.parametrize("label", ["StyleRule", "Concept", "Fact", "Extraction"])
def test_a_fact_keeps_its_label(graph, label):
    """A label that makes a node a fact or an Extraction cannot be taken from it."""
    told = refusal(graph, f"MATCH (n:{label}) REMOVE n:{label}")

    assert f"The label {label} cannot be taken from" in told


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        *(
            (f"MATCH (r:StyleRule) SET r.{key} = 'other'", f"The {key} of a stored StyleRule")
            for key in (
                *("ruleId", "user", "scope", "scopeId", "slot", "object", "operator"),
                *("value", "polarity", "condition"),
            )
        ),
        ("MATCH (r:StyleRule) REMOVE r.slot", "The slot of a stored StyleRule"),
        ("MATCH (r:StyleRule) REMOVE r.slot, r.checkedRev", "The slot of a stored StyleRule"),
        ("MATCH (c:Concept {key: 'a'}) SET c.key = 'c'", "The key of a stored Concept"),
        ("MATCH (f:Fact) SET f.toKey = 'a'", "The toKey of a stored Fact"),
        ("MATCH (f:Fact) SET f.user = 'bob'", "The user of a stored Fact"),
        (
            "MATCH (e:Extraction {extractionId: 'seen'}) SET e.extractionId = 'heard'",
            "The extractionId of a stored Extraction",
        ),
    ],
)
def test_a_stored_identity_cannot_change(graph, statement, named):
    """What a stored fact is about stays; the refusal names the property and the fact."""
    assert f"{named} cannot change: `" in refusal(graph, statement)


@pytest.mark.parametrize("text", ["Use a formal tone", "Mind the gap between the lines"])
@pytest.mark.parametrize("change", ["SET r.text = 'Always use emojis'", "REMOVE r.text"])
def test_the_text_of_a_rule_is_its_identity(session, text, change):
    """Agents are given the text: it is that of an Extraction, whether its slot is known or not."""
    state(session, "plain", text)

    told = refusal(session, f"MATCH (r:StyleRule) {change}")

    assert "The text of a stored StyleRule cannot change: `plain`" in told


def test_a_checked_rule_without_its_text_is_refused_by_name(session):
    """Somebody took it away before the rule was stored, and had it checked again."""
    added = "CALL rules.add({userId: 'ann', text: 'formal tone'}, {method: 'rule'})"
    told = pytest.raises(ClientError, match=r"SC-801.*A StyleRule lacks `text`")
    with told, session.begin_transaction() as transaction:
        transaction.run(added).consume()
        transaction.run(
            "MATCH (r:StyleRule) REMOVE r.text WITH collect(r) AS nodes "
            "CALL rules.record(nodes) YIELD id RETURN id"
        ).consume()


# What passes


@pytest.mark.parametrize(
    "statement",
    [
        "MATCH (n) DETACH DELETE n",
        "MATCH (r:StyleRule)<--(e:Extraction) DETACH DELETE r, e",
        "MATCH (r:StyleRule) DETACH DELETE r",
        "MATCH (e:Extraction {extractionId: 'seen'})-->(n) DETACH DELETE e, n",
        "MATCH (:User)-[p:PREFERS]->(:StyleRule) DELETE p",
        "MATCH (u:User) DETACH DELETE u",
        "MATCH (r:StyleRule) SET r.text = r.text, r.note = 'mine'",
        "MATCH (c:Concept {key: 'a'}) SET c.name = 'A'",
        "MATCH (u:User) SET u.key = 1, u.slot = 'x', u.user = 'y' REMOVE u.key, u.type",
        "CREATE (:Ours {key: 1, text: 'x'})-[:CREATED]->(:Ours)-[:RELATED_TO]->(:Ours)",
        (
            "CREATE (:User {id: 'bob'})-[:CREATED]->(:Artifact {id: 'x'}) WITH 1 AS x "
            "MATCH (u:User {id: 'bob'}) DETACH DELETE u"
        ),
        "MATCH (c:Concept {key: 'a'}) CREATE (:User {id: 'bob'})-[:CREATED]->(c)",
        (
            "CREATE (e:Extraction {extractionId: 'x'})-[:CREATED]->(c:Concept) "
            "SET c.key = 'x' SET c.key = 'y'"
        ),
    ],
)
def test_what_keeps_provenance_passes(graph, statement):
    """A wipe, a fact deleted with or without what it hangs on, and changes of anything else."""
    graph.run(statement).consume()


def test_a_users_deletion_of_what_he_created_is_no_loss_of_provenance(graph):
    """A CREATED that comes from no Extraction may go while the concept stays."""
    graph.run("MATCH (c:Concept {key: 'a'}) CREATE (:User {id: 'bob'})-[:CREATED]->(c)").consume()

    graph.run("MATCH (u:User {id: 'bob'}) DETACH DELETE u").consume()

    assert graph.run("MATCH (c:Concept {key: 'a'}) RETURN count(c)").single().value() == 1


# What was said


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("SET p.since = datetime()", "The since"),
        ("SET p.since = 'tomorrow'", "The since"),
        ("REMOVE p.temporalMarker", "The temporalMarker"),
        ("REMOVE p.recordedAt", "The recordedAt"),
        ("SET p.recordedAt = datetime()", "The recordedAt"),
        ("SET p.confirmed = true", "The confirmed"),
        ("SET p.expiresAt = '2030-01-01'", "The expiresAt"),
        ("SET p.expiresAt = datetime('2030-01-01')", "The expiresAt"),
        ("SET p.confidence = 0.5", "The confidence"),
        ("SET p.retractedAt = '2026-01-01'", "a `retractedAt` that is not a ZONED DATETIME"),
        ("SET p.retractedAt = datetime('2020-01-01')", "a `retractedAt` without a RETRACTED"),
        (
            (
                "CREATE (e)-[:RETRACTED {at: p.since, recordedAt: p.since}]->(r) "
                "SET p.retractedAt = p.recordedAt"
            ),
            "a `retractedAt` without a RETRACTED",
        ),
        ("SET r.strict = true", "The strict"),
        ("CREATE (e)-[:CONFIRMED]->(r)", "lacks its time"),
        ("CREATE (e)-[:CONFIRMED {at: datetime(), recordedAt: 'x'}]->(r)", "lacks its time"),
        ("CREATE (e)-[:RETRACTED {at: datetime()}]->(r)", "lacks its time"),
    ],
)
def test_what_was_stated_is_never_rewritten(graph, change, named):
    """A stored preference keeps what it says; a confirmation has its times."""
    told = refusal(
        graph,
        "MATCH (e:Extraction)-[:CREATED]->(r:StyleRule {ruleId: 'formal'})<-[p:PREFERS]-() "
        + change,
    )

    assert named in told
    assert "`formal`" in told


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("{expiresAt: '2030-01-01'}", "a `expiresAt` that is not a ZONED DATETIME"),
        ("{expiresAt: localdatetime()}", "a `expiresAt` that is not a ZONED DATETIME"),
        ("{since: 'tomorrow'}", "a `since` that is not a ZONED DATETIME"),
        ("{since: null}", "a `since` that is not a ZONED DATETIME"),
        ("{retractedAt: 1}", "a `retractedAt` that is not a ZONED DATETIME"),
        ("{retractedAt: datetime()}", "a `retractedAt` without a RETRACTED"),
        ("{recordedAt: 'x'}", "a `recordedAt` that is not a ZONED DATETIME"),
        ("{confidence: 7}", "a `confidence` outside of 0 to 1"),
        ("{confidence: '1'}", "a `confidence` outside of 0 to 1"),
        ("{confidence: 0.0 / 0}", "a `confidence` outside of 0 to 1"),
        ("{confirmed: 'yes'}", "a `confirmed` that is not a BOOLEAN"),
        ("{strict: 1}", "a `strict` that is not a BOOLEAN"),
        ("{temporalMarker: 'someday'}", "an unknown `temporalMarker`"),
    ],
)
def test_what_a_statement_adds_to_a_new_preference_has_its_type(session, given, told):
    """Also in the transaction of `rules.add`, which has looked at the rule before that."""
    text = refusal(
        session,
        "CALL rules.add({userId: 'ann', text: 'formal tone', id: 'formal'}, {method: 'rule'}) "
        "YIELD id "
        f"MATCH (:User)-[p:PREFERS]->(:StyleRule {{ruleId: id}}) SET p += {given}",
    )

    assert f"A PREFERS of the rule `formal` has {told}" in text


def test_a_new_preference_may_be_given_more_in_its_transaction(session):
    """What `rules.add` has just written is not stored yet."""
    session.run(
        "CALL rules.add({userId: 'ann', text: 'formal tone'}, {method: 'rule'}) YIELD id "
        "MATCH (:User)-[p:PREFERS]->(:StyleRule {ruleId: id}) "
        "SET p.confidence = 1, p.expiresAt = p.since + duration('P1D'), p.note = 'mine'"
    ).consume()

    assert session.run("MATCH ()-[p:PREFERS]->() RETURN p.confidence").single().value() == 1


@pytest.mark.slow
def test_a_preference_stored_unchecked_is_completed(session, server, guarded_by):
    """`rules.recheck` writes what a stored PREFERS lacked, and nobody else may."""
    guarded_by("test.record")
    with server.sidecar_down():
        state(session, "formal", "Use a formal tone")
    guarded_by("rules.record")
    told = refusal(session, "MATCH (:User)-[p:PREFERS]->() SET p.recordedAt = datetime()")

    assert "The recordedAt of a PREFERS of the rule `formal` cannot change" in told
    assert session.run("CALL rules.recheck() YIELD problem RETURN problem").value() == [None]
    [row] = session.run("MATCH ()-[p:PREFERS]->() RETURN p.confirmed, p.strict").values()
    assert row == [False, False]


@pytest.mark.parametrize("told", ["confirm", "retract"])
@pytest.mark.parametrize(
    "change",
    ["SET c.at = datetime()", "SET c.recordedAt = datetime()", "REMOVE c.at", "SET c = {}"],
)
def test_a_stored_confirmation_or_retraction_keeps_its_times(graph, told, change):
    """Whoever could move them could confirm or take back what was said in between."""
    graph.run("CALL rules." + told + "('formal', {method: 'rule'})").consume()
    text = refusal(graph, f"MATCH (:Extraction)-[c:CONFIRMED|RETRACTED]->(:StyleRule) {change}")

    assert f"{told.upper()}ED of the rule `formal` cannot change" in text


def test_a_rule_may_be_stated_and_retracted_in_one_transaction(session):
    """The end of a preference comes with its RETRACTED, also before either is stored."""
    with session.begin_transaction() as transaction:
        for _ in range(2):
            transaction.run(
                "CALL rules.add({userId: 'ann', text: 'formal tone', id: 'formal'}, "
                "{method: 'rule'})"
            ).consume()
            transaction.run("CALL rules.retract('formal', {method: 'rule'})").consume()
        transaction.commit()

    [row] = session.run("CALL rules.active('ann') YIELD status, reason RETURN *").data()
    assert row == {"status": "inactive", "reason": "expired"}


def test_preferences_of_others_are_their_own(session):
    """A PREFERS that leads to no StyleRule is nothing the trigger knows of."""
    session.run("CREATE (:Customer)-[:PREFERS {since: 1}]->(:Product)").consume()

    session.run("MATCH ()-[p:PREFERS]->(:Product) SET p.since = 2").consume()

    assert session.run("MATCH ()-[p:PREFERS]->() RETURN p.since").single().value() == 2


# Contradictions


def test_a_rule_of_plain_cypher_is_completed_and_checked(graph):
    """A rule written by plain Cypher has its canonical parts and was checked at its scope's rev."""
    [found] = graph.run(
        "MATCH (r:StyleRule), (s:RuleScope {user: 'ann', scope: 'global', scopeId: ''}) "
        "RETURN r.checkedRev = s.rev AS checked, r.slot AS slot, r.value AS value"
    ).data()

    assert found["checked"]
    assert found["slot"]
    assert found["value"]


def test_contradictions_of_plain_cypher_are_recorded(graph):
    """A rule written by plain Cypher contradicts what it contradicts, in the same transaction."""
    state(graph, "casual", "Use a casual tone", since=2)

    found = graph.run("MATCH (a:StyleRule)-[:CONTRADICTS]->(b) RETURN a.ruleId, b.ruleId").values()
    assert found == [["casual", "formal"]]


@pytest.fixture
def contradiction(graph):
    """The graph, with a recorded contradiction of `formal` and `casual`."""
    state(graph, "casual", "Use a casual tone", since=2)
    return graph


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("{key: 'x', reason: 'x', createdAt: datetime(), extractionId: 'x'}", "detector"),
        ("{createdAt: datetime('2026-01-01').epochMillis}", "createdAt"),
        ("{createdAt: null}", "createdAt"),
        ("{verdict: 'surely'}", "verdict"),
        ("{layer: 1}", "layer"),
        *((f"{{{key}: null}}", key) for key in ("key", "reason", "extractionId", "strategy")),
    ],
)
def test_a_contradiction_has_what_is_read_of_it(contradiction, given, told):
    """A CONTRADICTS between rules that lacks something would fail every read of its scope."""
    whole = "c {.*}" if "reason: 'x'" not in given else "{}"
    text = refusal(
        contradiction,
        "MATCH (a:StyleRule)-[c:CONTRADICTS]->(b:StyleRule) "
        f"CREATE (b)-[n:CONTRADICTS]->(a) SET n = {whole} SET n += {given}",
    )

    assert f"A CONTRADICTS of the rule `casual` has no valid `{told}`" in text


@pytest.mark.parametrize(
    ("change", "told"),
    [
        *(
            (f"SET c.{key} = 'other'", f"The {key} of a CONTRADICTS of the rule `formal`")
            for key in ("key", "reason", "createdAt", "extractionId", "verdict", "strategy")
        ),
        ("SET c.score = 1.0", "The score of a CONTRADICTS of the rule `formal`"),
        ("REMOVE c.detector", "The detector of a CONTRADICTS of the rule `formal`"),
        ("SET c = {}", "a CONTRADICTS of the rule `formal`"),
        ("DELETE c", "The CONTRADICTS of the rules `casual` and `formal` would be gone"),
        (
            "CREATE (a)-[d:CONTRADICTS]->(b) SET d = properties(c) DELETE c",
            "The CONTRADICTS of the rules `casual` and `formal` would be gone",
        ),
    ],
)
def test_recorded_evidence_stays(contradiction, change, told):
    """A stored CONTRADICTS is neither rewritten nor deleted while both rules stay."""
    found = "MATCH (a:StyleRule)-[c:CONTRADICTS]->(b:StyleRule) "

    assert told in refusal(contradiction, found + change)


@pytest.mark.parametrize(
    "statement",
    [
        "MATCH (r:StyleRule {ruleId: 'formal'}) DETACH DELETE r",
        "MATCH (:StyleRule {ruleId: 'formal'})-[c:CONTRADICTS]-(r) DELETE c DETACH DELETE r",
        "MATCH (r:StyleRule) DETACH DELETE r",
        "MATCH (:StyleRule)-[c:CONTRADICTS]->() SET c.note = 'mine'",
        "CREATE (:Claim)-[:CONTRADICTS]->(:Claim)",
        "MATCH (r:StyleRule {ruleId: 'formal'}) CREATE (r)-[:CONTRADICTS]->(:Claim)",
    ],
)
def test_a_contradiction_goes_with_a_rule(contradiction, statement):
    """A rule may be deleted with its evidence, and what is between other nodes is their own."""
    contradiction.run(statement).consume()


def test_a_contradiction_of_others_may_go(session):
    """Only evidence about two rules is kept."""
    session.run("CREATE (:Claim)-[:CONTRADICTS {reason: 1}]->(:Claim)").consume()
    session.run("MATCH ()-[c:CONTRADICTS]->() SET c.reason = 2 DELETE c").consume()

    assert session.run("MATCH ()-[c:CONTRADICTS]->() RETURN count(c)").single().value() == 0


def test_rules_of_one_transaction_are_checked_against_each_other(session):
    """Two rules written together by plain Cypher contradict each other like any two."""
    with session.begin_transaction() as transaction:
        state(transaction, "formal", "Use a formal tone")
        state(transaction, "casual", "Use a casual tone", since=2)
        transaction.commit()

    [pair] = session.run("MATCH (a)-[:CONTRADICTS]->(b) RETURN a.ruleId, b.ruleId").values()
    assert sorted(pair) == ["casual", "formal"]


def test_a_preference_added_by_plain_cypher_has_its_rule_checked(graph):
    """A new PREFERS on a stored rule, with its Extraction, has the rule checked again."""
    before = graph.run("MATCH (s:RuleScope) RETURN s.rev").single().value()
    graph.run(
        "MATCH (r:StyleRule {ruleId: 'formal'}), (u:User {id: 'ann'}) "
        "CREATE (e:Extraction {extractionId: 'again', method: 'rule'})-[:ASSERTED]->(r) "
        "CREATE (u)-[:PREFERS {since: datetime(), scope: 'global', temporalMarker: 'current', "
        "extractionId: 'again'}]->(r)"
    ).consume()

    assert graph.run("MATCH (s:RuleScope) RETURN s.rev").single().value() == before + 1


def test_rules_of_the_procedures_are_not_checked_twice(session):
    """A rule of `rules.add` was checked at the rev of its scope, so the trigger leaves it alone."""
    session.run(
        "CALL rules.add({userId: 'ann', text: 'Use a formal tone'}, {method: 'rule'})"
    ).consume()

    [row] = session.run("MATCH (s:RuleScope), (r:StyleRule) RETURN s.rev, r.checkedRev").values()
    assert row == [1, 1]


def test_a_bad_rule_of_plain_cypher_is_refused_by_the_check(graph):
    """What `rules.record` refuses rolls the transaction back, with its own error."""
    told = refusal(
        graph,
        "CREATE (:Extraction {extractionId: 'x', method: 'rule'})"
        "-[:CREATED]->(:StyleRule {ruleId: 'x', user: 'ann', text: 'Be brief'})",
    )

    assert "[SC-8" in told
    assert "PREFERS" in told


# Without a sidecar


@pytest.mark.slow
def test_without_a_sidecar_rules_are_refused_and_other_writes_succeed(graph, server):
    """While the sidecar is down no rule gets in unchecked, and nothing else notices."""
    with server.sidecar_down():
        graph.run("CREATE (:Unrelated {text: 'x'})").consume()
        told = refusal(graph, STATED, id="casual", text="Use a casual tone", since=2)
        refused = refusal(graph, "CREATE (:Concept {key: 'x'})")

    assert "rules.record" in told
    assert "[SC-21" in told
    assert "has no Extraction" in refused


@pytest.mark.slow
def test_without_a_sidecar_an_optional_check_leaves_rules_unchecked(session, server, guarded_by):
    """Where `rules.record` is OPTIONAL, a rule written meanwhile is stored without checkedRev."""
    guarded_by("test.record")
    with server.sidecar_down():
        state(session, "formal", "Use a formal tone")

    assert session.run("MATCH (r:StyleRule) RETURN r.checkedRev").value() == [None]


@pytest.mark.slow
def test_an_unchecked_rule_gets_its_identity_by_the_recheck(session, server, guarded_by):
    """What was stored unchecked may be given canonical parts, also in the place of others."""
    guarded_by("test.record")
    with server.sidecar_down():
        state(session, "formal", "Use a formal tone")
        session.run("MATCH (r:StyleRule) SET r.slot = 'TONE '").consume()
    guarded_by("rules.record")

    session.run("MATCH (r:StyleRule) SET r.slot = null").consume()

    [row] = session.run("MATCH (r:StyleRule) RETURN r.slot, r.checkedRev").values()
    assert row[0]
    assert row[1] is not None


def test_without_the_plugin_rules_are_refused_and_other_writes_succeed(graph, guarded_by):
    """When no procedure of the name is there, only writes of rules fail, and the text names it."""
    guarded_by("rules.gone")

    graph.run("CREATE (:Unrelated {text: 'x'})").consume()
    told = refusal(graph, STATED, id="casual", text="Use a casual tone", since=2)

    assert "no procedure with the name `rules.gone`" in told


# Size and plan


def test_thousands_of_nodes_pass_in_one_transaction(session):
    """5 000 unconcerned and 5 000 guarded nodes fit into one transaction of the default heap."""
    session.run("""
        CREATE (e:Extraction {extractionId: 'all', method: 'rule'})
        WITH e UNWIND range(1, 4000) AS n
        CREATE (:Unrelated {text: n, user: n, type: n, key: n})
        CREATE (e)-[:CREATED]->(:Concept {key: toString(n), user: 'ann'})
    """).consume()
    session.run("MATCH (n) DETACH DELETE n").consume()

    assert count(session) == 0


def test_changes_of_other_nodes_by_thousands_are_passed_over(graph):
    """Nodes of others may have properties of the names that rules have."""
    graph.run("UNWIND range(1, 20000) AS n CREATE (:Other {text: n, type: 't'})").consume()
    graph.run("MATCH (n:Other) SET n.text = n.text + 1, n.user = 'x' REMOVE n.type").consume()
    graph.run("MATCH (n:Other) DETACH DELETE n").consume()

    assert graph.run("MATCH (r:StyleRule) RETURN count(r)").single().value() == 1


@pytest.mark.slow
def test_rules_by_thousands_pass_in_one_transaction(session):
    """8 000 nodes with preferences and contradictions are written, and deleted, together."""
    session.run("""
        CREATE (u:User {id: 'ann'}), (e:Extraction {extractionId: 'all', method: 'rule'})
        WITH u, e UNWIND range(1, 4000) AS n
        CREATE (e)-[:CREATED]->(r:StyleRule {
            ruleId: toString(n), user: 'ann', scope: 'project', scopeId: toString(n), slot: 'tone',
            text: 'formal tone', object: '', operator: '', value: 'formal', polarity: 'positive',
            condition: '', strict: false, checkedRev: 1
        })
        CREATE (u)-[:PREFERS {
            since: datetime(), scope: 'project', temporalMarker: 'current', confirmed: false,
            strict: false, recordedAt: datetime(), extractionId: 'all'
        }]->(r)
        CREATE (e)-[:CREATED]->(:Concept {key: toString(n), user: 'ann'})
        CREATE (r)-[:CONTRADICTS {
            key: toString(n), reason: 'x', createdAt: datetime(), extractionId: 'all',
            detector: 'x', detectorVersion: '1', verdict: 'conflict', layer: 'x', strategy: 'x'
        }]->(r)
    """).consume()
    session.run("MATCH (n) DETACH DELETE n").consume()

    assert count(session) == 0


@pytest.mark.slow
def test_the_plan_of_the_trigger_scans_nothing(session):
    """The guard seeks what it looks for, also when it was planned on an empty graph."""
    checks = re.findall(r'text: "(.*?)"', GUARD.text, re.DOTALL)
    parameters = GIVEN | {"rows": [], "more": []}
    operators = [
        operator
        for text in (GUARD.text, *checks)
        for operator in _operators(
            session.run(neo4j.Query(f"EXPLAIN {text}"), parameters).consume().plan
        )
    ]

    assert len(checks) > 1
    assert [each for each in operators if "Scan" in each] == []


def _operators(plan):
    yield plan["operatorType"]
    for child in plan.get("children", ()):
        yield from _operators(child)
