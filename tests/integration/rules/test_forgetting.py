"""`rules.forget` on a real Neo4j with its trigger: what goes, what stays, and what is told."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from neo4j.exceptions import ClientError

LLM = {"method": "llm", "model": "some-model"}


def remember(rules, /, **values):
    return rules.one("remember", {"userId": rules.user, "extraction": LLM, **values})


def forget(rules, **what):
    """Forget; tell the ids that were deleted and those that stay, each by its label."""
    deleted, kept = {}, {}
    for row in rules.call("forget", what):
        assert (row["reason"] is None) == row["deleted"]
        (deleted if row["deleted"] else kept).setdefault(row["label"], set()).add(row["id"])
    return deleted, kept


def count(rules, pattern):
    return rules.session.run(f"MATCH {pattern} RETURN count(*) AS n").single()["n"]


def nodes(rules):
    """Count the nodes of the memory and of the user by label."""
    labels = [
        "User",
        "StyleRule",
        "Concept",
        "Fact",
        "Extraction",
        "Session",
        "Artifact",
        "RuleScope",
    ]
    found = rules.session.run(
        "MATCH (n) WHERE any(label IN labels(n) WHERE label IN $labels) "
        "RETURN labels(n)[0] AS label, count(*) AS count",
        labels=labels,
    )
    return dict(found.values())


def test_a_forgotten_rule_goes_with_what_only_it_has(rules):
    """Its extractions and contradictions go; a rule that contradicted it stays and is told."""
    formal = rules.add("formal tone", 0)
    casual = rules.add("casual tone", 1)
    rules.call("confirm", formal["id"], {"method": "rule", "rawSnippet": "Yes, formal."})

    deleted, kept = forget(rules, ruleId=formal["id"])

    assert deleted["StyleRule"] == {formal["id"]}
    assert len(deleted["Extraction"]) == 2
    assert kept == {"StyleRule": {casual["id"]}}
    assert rules.standings() == {"casual tone": ("active", "recency")}
    assert nodes(rules) == {"User": 1, "StyleRule": 1, "Extraction": 1, "RuleScope": 1}


def test_an_extraction_that_states_more_than_the_rule_stays(rules):
    """Its snippet may quote the rule, so it is told, and can be forgotten by its own id."""
    row = remember(rules, entities=[{"name": "Apollo"}], rules=[{"text": "formal tone"}])

    deleted, kept = forget(rules, ruleId=row["rules"][0]["id"])

    assert deleted == {"StyleRule": {row["rules"][0]["id"]}}
    assert kept == {"Extraction": {row["extractionId"]}}
    assert nodes(rules) == {"User": 1, "Concept": 1, "Extraction": 1, "RuleScope": 1}


@pytest.mark.slow
def test_a_forgotten_extraction_leaves_what_another_one_states(rules):
    """Rules, concepts and facts stay while another text states them, with it as their source."""
    said = {
        "relations": [{"from": "Apollo", "type": "uses", "to": "Redis"}],
        "rules": [{"text": "formal tone"}],
    }
    first = remember(rules, artifactId="a1", **said)
    second = remember(rules, **said)
    [rule] = first["rules"]

    deleted, kept = forget(rules, extractionId=first["extractionId"])

    assert deleted == {"Extraction": {first["extractionId"]}, "Artifact": {"a1"}}
    assert kept == {
        "StyleRule": {rule["id"]},
        "Concept": {*first["concepts"]},
        "Fact": {*first["facts"]},
    }
    sources = rules.session.run(
        "MATCH (e:Extraction)-[:CREATED]->(x) RETURN e.extractionId AS id, count(x) AS count"
    ).values()
    assert sources == [[second["extractionId"], 3]]
    assert rules.session.run(
        "MATCH (x:Concept|Fact) RETURN DISTINCT x.extractionId AS id"
    ).value() == [second["extractionId"]]
    [event] = rules.call("history", rule["id"])
    assert (event["kind"], event["extractionId"]) == ("asserted", second["extractionId"])

    forget(rules, extractionId=second["extractionId"])

    assert nodes(rules) == {"User": 1, "RuleScope": 1}


def test_a_forgotten_retraction_has_never_been(rules):
    """The rule holds again, and strictly if it was stated so, until another retraction."""
    rule = rules.add("formal tone", 0, strict=True)
    for _ in range(2):
        rules.call("retract", rule["id"], {"method": "rule"})
    first, second = (row["extractionId"] for row in rules.call("history", rule["id"])[1:])

    forget(rules, extractionId=first)
    assert rules.standings() == {"formal tone": ("inactive", "expired")}
    forget(rules, extractionId=second)

    assert rules.standings() == {"formal tone": ("active", "recency")}
    assert rules.session.run("MATCH (r:StyleRule) RETURN r.strict AS strict").value() == [True]


def test_a_forgotten_confirmation_has_never_been(rules):
    """The node tells whether the user confirmed the rule, and no longer if that is forgotten."""

    def confirmed():
        return rules.session.run("MATCH (r:StyleRule) RETURN r.confirmed AS yes").single()["yes"]

    rule = rules.add("formal tone", 0)
    assert not confirmed()
    rules.call("confirm", rule["id"], {"method": "rule"})
    assert confirmed()
    [_, event] = rules.call("history", rule["id"])

    forget(rules, extractionId=event["extractionId"])
    assert not confirmed()
    rules.add("formal tone", 1, confirmed=True)
    assert confirmed()
    rules.call("retract", rule["id"], {"method": "rule"})
    assert not confirmed()


def test_a_contradiction_keeps_a_source(rules):
    """When the text that revealed it is forgotten, it has the earliest one of a rule that stays."""
    formal = rules.add("formal tone", 0)
    casual = rules.add("casual tone", 1)
    again = rules.add("casual tone", 2)
    assert again["id"] == casual["id"]

    forget(rules, extractionId=casual["extractionId"])

    [found] = rules.call("contradictions", rules.user)
    assert {found["ruleId"], found["otherId"]} == {formal["id"], casual["id"]}
    assert found["extractionId"] == again["extractionId"]


def test_a_forgotten_session_leaves_what_other_sessions_state(rules, new_user):
    """Its texts and the rules that hold in it go; those of another user in it stay."""
    other = new_user()
    for user in (rules, other):
        remember(user, sessionId="s1", entities=[{"name": "Apollo"}], rules=[{"text": "be brief"}])
    remember(rules, sessionId="s2", rules=[{"text": "formal tone"}])
    rules.add("casual tone", 0, scope="session", scopeId="s1")

    forget(rules, userId=rules.user, sessionId="s1")

    assert set(rules.standings("session", "s1")) == {"formal tone"}
    assert set(other.standings()) == {"be brief"}
    assert nodes(rules)["Concept"] == 1
    assert count(rules, "(s:RuleScope {scope: 'session'})") == 0
    deleted, _ = forget(other, userId=other.user, sessionId="s1")
    assert deleted["Session"] == {"s1"}


def test_nothing_of_a_forgotten_user_is_left(rules, new_user):
    """Rules, concepts, facts, texts that state nothing, scopes and the user itself go."""
    other = new_user()
    remember(other, entities=[{"name": "Apollo"}])
    before = nodes(rules)
    remember(
        rules,
        sessionId="s1",
        artifactId="a1",
        relations=[{"from": "Apollo", "type": "uses", "to": "Redis"}],
        rules=[{"text": "formal tone"}, {"text": "casual tone"}],
    )
    rules.one("remember", {"userId": rules.user, "text": "Hello."})
    rules.add("be brief", 0, scope="project", scopeId="p1")

    forget(rules, userId=rules.user)

    assert nodes(rules) == before
    assert forget(rules, userId=rules.user) == ({}, {})
    assert rules.add("formal tone", 0)["created"]


def test_what_older_versions_wrote_is_forgotten_too(rules):
    """An extraction without a `user` belongs to the one of what it states, or of its session."""
    remember(rules, sessionId="s1", entities=[{"name": "Apollo"}])
    rules.one("remember", {"userId": rules.user, "sessionId": "s1", "text": "Hello."})
    rules.add("formal tone", 0)
    rules.session.run("MATCH (e:Extraction) REMOVE e.user").consume()

    forget(rules, userId=rules.user)

    assert nodes(rules) == {}


def test_a_user_who_is_more_than_a_memory_stays(rules):
    """A node with properties or relationships of others is not the memory's to delete."""
    remember(rules, sessionId="s1", entities=[{"name": "Apollo"}])
    rules.session.run(
        "MATCH (u:User {id: $user}), (s:Session) SET u.login = 'ann', s.title = 'May'",
        user=rules.user,
    ).consume()

    forget(rules, userId=rules.user)

    assert nodes(rules) == {"User": 1, "Session": 1}


@pytest.mark.parametrize(
    "more", ["SET u.login = 'ann'", "CREATE (:Team)-[:HAS_MEMBER]->(u)"], ids=["login", "team"]
)
def test_a_user_stays_for_one_thing_more(rules, more):
    """Either a property or a relationship is enough."""
    remember(rules, entities=[{"name": "Apollo"}])
    rules.session.run(f"MATCH (u:User {{id: $user}}) {more}", user=rules.user).consume()

    forget(rules, userId=rules.user)

    assert nodes(rules) == {"User": 1}


def test_forgetting_is_part_of_the_callers_transaction(rules):
    """A rollback brings everything back."""
    remember(rules, entities=[{"name": "Apollo"}], rules=[{"text": "formal tone"}])
    before = nodes(rules)

    with rules.session.begin_transaction() as transaction:
        transaction.run("CALL rules.forget({userId: $user})", user=rules.user).consume()
        transaction.rollback()

    assert nodes(rules) == before
    assert set(rules.standings()) == {"formal tone"}


def test_reading_one_row_forgets_everything(rules):
    """A LIMIT on the rows does not leave half of it behind."""
    remember(rules, entities=[{"name": "Apollo"}, {"name": "Redis"}])

    rules.session.run(
        "CALL rules.forget({userId: $user}) YIELD id RETURN id LIMIT 1", user=rules.user
    ).consume()

    assert nodes(rules) == {}


@pytest.mark.parametrize(
    ("what", "code"),
    [
        ({}, "SC-204"),
        ({"ruleId": "r1", "userId": "ann"}, "SC-204"),
        ({"sessionId": "s1"}, "SC-204"),
        ({"user": "ann"}, "SC-204"),
        ({"ruleId": "unknown"}, "SC-804"),
        ({"extractionId": "unknown"}, "SC-809"),
    ],
    ids=str,
)
def test_what_cannot_be_forgotten_is_refused(rules, what, code):
    """One thing is named, and exists."""
    with pytest.raises(ClientError, match=code):
        rules.call("forget", what)


def test_writers_at_the_same_time_leave_nothing_without_a_source(rules, driver):
    """Who meets what is being deleted waits, or is told to try again, which drivers do."""
    said = {
        "userId": rules.user,
        "extraction": LLM,
        "rules": [{"text": "be brief"}],
        "relations": [{"from": "Apollo", "type": "uses", "to": "Redis"}],
    }

    def write(transaction):
        return transaction.run("CALL rules.remember($said)", said=said).single()["extractionId"]

    def erase(transaction):
        transaction.run("CALL rules.forget({userId: $user})", user=rules.user).consume()

    def work(number):
        with driver.session() as session:
            return session.execute_write(write if number % 6 else erase)

    with ThreadPoolExecutor(4) as pool:
        written = {*pool.map(work, range(24))}

    stated = "EXISTS { (:Extraction)-[:ASSERTED]->(x) }"
    assert count(rules, f"(x:StyleRule|Concept|Fact) WHERE NOT {stated}") == 0
    left = rules.session.run("MATCH (e:Extraction) RETURN e.extractionId AS id").value()
    assert {*left} <= written
    forget(rules, userId=rules.user)
    assert nodes(rules) == {}
