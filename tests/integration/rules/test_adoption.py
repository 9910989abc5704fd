"""Rules that are written by plain Cypher, and checked by the trigger or later."""

import contextlib

import pytest
from fix_waiting import wait_until
from integration.rules.conftest import at
from neo4j.exceptions import ClientError


def test_a_rule_written_by_hand_is_completed(rules):
    """It gets an id, its canonical parts, its scope and the time of its record."""
    rules.add_plainly("Please use a formal tone!", 1)
    found = rules.session.run("MATCH ()-[p:PREFERS]->(r:StyleRule) RETURN p, r").single()

    assert (found["r"]["slot"], found["r"]["value"]) == ("tone", "formal")
    assert (found["r"]["scope"], found["r"]["scopeId"]) == ("global", "")
    assert found["r"]["ruleId"]
    assert found["r"]["checkedRev"] == 1
    assert found["p"]["recordedAt"] is not None


def test_a_preference_added_by_hand_states_the_rule_again(rules):
    """A new PREFERS on a stored rule is checked too, and makes it recent."""
    formal = rules.add("formal tone", 1)
    rules.add("casual tone", 2)
    _prefer_again(rules, formal["id"])

    assert rules.standings()["formal tone"] == ("active", "recency")
    assert len(rules.edges()) == 1


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("REMOVE p.since", "`PREFERS.since`"),
        ("REMOVE p.temporalMarker", "`PREFERS.temporalMarker`"),
        ("SET p.temporalMarker = 'someday'", "`PREFERS.temporalMarker` is not one of"),
        ("SET p.since = 'tomorrow'", "`since` that is not a ZONED DATETIME"),
        ("SET p.expiresAt = p.since", "expires before it begins"),
        ("SET p.confidence = 7", "`confidence` outside of 0 to 1"),
        ("SET p.scope = 'session'", "another `scope` than its rule"),
        ("SET r.user = 'eve'", "another user than its rule names"),
        ("SET r.scope = 'galaxy', p.scope = 'galaxy'", "`StyleRule.scope` is not one of"),
        ("SET r.scope = 'session', p.scope = 'session'", "lacks `scopeId`"),
        ("REMOVE r.text", "says nothing"),
        ("SET r.user = ' ' + r.user, u.id = r.user", "space around it"),
        ("SET p.confirmed = 'yes'", "`confirmed` that is not a BOOLEAN"),
        ("SET p.recordedAt = 'x'", "`recordedAt` that is not a ZONED DATETIME"),
        ("SET r.user = 7, u.id = 7", "`StyleRule.user`"),
        ("SET r.ruleId = 7", "`ruleId` is STRING"),
        ("DELETE p", "has no PREFERS"),
    ],
)
def test_a_rule_that_cannot_be_one_is_refused_by_the_trigger(rules, change, told):
    """The writer learns what is wrong, and nothing is stored."""
    statement = f"""
        CREATE (u:User {{id: $user}})
        CREATE (e:Extraction {{extractionId: 'x', createdAt: datetime(), method: 'rule'}})
        CREATE (e)-[:CREATED]->(r:StyleRule {{user: $user, scope: 'global', text: 'formal tone'}})
        CREATE (u)-[p:PREFERS {{
            since: $since, scope: 'global', temporalMarker: 'current', extractionId: 'x'
        }}]->(r)
        {change}
    """
    with pytest.raises(ClientError) as caught:
        rules.session.run(statement, user=rules.user, since=at(1)).consume()

    assert told in caught.value.message
    assert "formal tone" not in caught.value.message
    assert rules.session.run("MATCH (n) RETURN count(n) AS n").single()["n"] == 0


def test_the_same_rule_by_hand_is_refused(rules):
    """There is one rule for each thing said in a scope; the error names it."""
    rules.add("formal tone", id="r1")

    with pytest.raises(ClientError, match=r"SC-805.*there already as `r1`"):
        rules.add_plainly("use a formal tone", 2)


def test_what_was_stored_unchecked_is_checked_later(rules, driver):
    """Until then nobody sees it; `rules.recheck` completes it, and records what contradicts."""
    rules.add("formal tone", 1)
    with _trigger_stopped(driver):
        rules.add_plainly("casual tone", 2)

        assert "casual tone" not in rules.standings()
        [row] = rules.call("recheck")
    assert len(row["contradicts"]) == 1
    assert rules.standings()["casual tone"] == ("active", "recency")
    assert rules.call("recheck") == []


def test_a_rule_that_cannot_be_checked_is_told_and_the_others_are_checked(rules, driver):
    """One mistake does not keep the rest unchecked."""
    rules.add("formal tone", id="r1")
    with _trigger_stopped(driver):
        rules.add_plainly("use a formal tone", 2, ruleId="r2")
        rules.add_plainly("use emojis", 2, ruleId="r3")
        rows = rules.call("recheck")
        assert {row["id"]: row["problem"] and row["problem"][:8] for row in rows} == {
            "r2": "[SC-805]",
            "r3": None,
        }
        _forget(rules, "r2")


def test_rules_that_cannot_be_checked_keep_no_other_waiting(rules, driver):
    """However many they are, with a limit the others come first, and they when there is room."""
    rules.add("formal tone", id="r1")
    with _trigger_stopped(driver):
        for number in range(3):
            rules.add_plainly("use a formal tone", 2, ruleId=f"a{number}")
        rules.add_plainly("use emojis", 2, ruleId="b1")
        rules.add_plainly("answer in French", 2, ruleId="b2")

        assert [row["id"] for row in rules.call("recheck", {"limit": 2})] == ["b1", "b2"]
        told = rules.call("recheck", {"limit": 2})
        assert [(row["id"], row["problem"][:8]) for row in told] == [
            ("a0", "[SC-805]"),
            ("a1", "[SC-805]"),
        ]
        _forget(rules, "a0", "a1", "a2")


def test_scopes_are_rechecked_in_the_order_of_their_locks(rules, driver):
    """Whatever the ids, the scopes come as any other writer of several scopes takes them."""
    with _trigger_stopped(driver):
        rules.add_plainly("use emojis", 1, ruleId="a", scope="session", scopeId="s1")
        rules.add_plainly("use emojis", 1, ruleId="b", scope="project", scopeId="p2")
        rules.add_plainly("use emojis", 1, ruleId="c", scope="project", scopeId="p1")
        rules.add_plainly("use emojis", 1, ruleId="d")

        assert [row["id"] for row in rules.call("recheck")] == ["d", "c", "b", "a"]


def test_a_preference_stored_unchecked_counts_once_it_is_checked(rules, driver):
    """So does one that was added to a rule that had been checked before."""
    formal = rules.add("formal tone", 1)
    rules.add("casual tone", 2)
    with _trigger_stopped(driver):
        _prefer_again(rules, formal["id"])

        assert rules.standings()["formal tone"] == ("contested", "recency")
        rules.call("recheck")
    assert rules.standings()["formal tone"] == ("active", "recency")
    assert rules.call("recheck") == []


def _forget(rules, *ids):
    rules.session.run(
        "MATCH (r:StyleRule) WHERE r.ruleId IN $ids DETACH DELETE r", ids=list(ids)
    ).consume()


def _prefer_again(rules, rule_id):
    rules.session.run(
        """
        MATCH (u:User {id: $user}), (r:StyleRule {ruleId: $ruleId})
        CREATE (e:Extraction {extractionId: 'again', createdAt: datetime(), method: 'rule'})
        CREATE (e)-[:ASSERTED]->(r), (u)-[:PREFERS {
            since: $since, scope: 'global', temporalMarker: 'current', extractionId: 'again'
        }]->(r)
        """,
        user=rules.user,
        ruleId=rule_id,
        since=at(3),
    ).consume()


@contextlib.contextmanager
def _trigger_stopped(driver):
    def turn(verb, *, paused):
        driver.execute_query(
            f"CALL apoc.trigger.{verb}('neo4j', 'rules-guard')", database_="system"
        )
        wait_until(lambda: _is_paused(driver) is paused)

    turn("stop", paused=True)
    try:
        yield
    finally:
        turn("start", paused=False)


def _is_paused(driver):
    query = "CALL apoc.trigger.list() YIELD name, paused WHERE name = 'rules-guard' RETURN paused"
    return driver.execute_query(query).records[0]["paused"]
