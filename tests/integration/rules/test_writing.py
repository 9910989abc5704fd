"""Stating, confirming, retracting and checking rules on a real Neo4j."""

import pytest
from integration.rules.conftest import at
from neo4j.exceptions import ClientError

EXTRACTION = {"method": "rule"}


def test_a_rule_comes_with_its_provenance(rules):
    """One call writes user, session, artifact, extraction, rule and preference."""
    [row] = rules.call(
        "add",
        {"userId": rules.user, "text": "Use a formal tone.", "confidence": 0.9},
        {
            "method": "llm",
            "model": "some-model",
            "rawSnippet": "please be formal",
            "sourceSpan": [7, 16],
            "sessionId": "s1",
            "artifactId": "a1",
        },
    )

    found = rules.session.run(
        """
        MATCH (u:User {id: $user})-[p:PREFERS]->(r:StyleRule {ruleId: $ruleId})
        MATCH (e:Extraction {extractionId: p.extractionId})-[:CREATED]->(r)
        MATCH (e)-[:ASSERTED]->(r), (e)-[:EXTRACTED_FROM]->(s:Session)<-[:STARTED]-(u)
        MATCH (e)-[:EXTRACTED_FROM_ARTIFACT]->(a:Artifact)<-[:CREATED]-(u), (s)-[:CONTAINS]->(a)
        RETURN r, p, e, s.id AS session, a.id AS artifact
        """,
        user=rules.user,
        ruleId=row["id"],
    ).single()
    assert row["created"]
    assert (row["status"], row["reason"], row["contradicts"]) == ("active", "recency", [])
    assert row["extractionId"] == found["e"]["extractionId"]
    assert (found["session"], found["artifact"]) == ("s1", "a1")
    assert (found["r"]["slot"], found["r"]["value"]) == ("tone", "formal")
    assert found["r"]["text"] == "Use a formal tone."
    assert (found["p"]["scope"], found["p"]["temporalMarker"]) == ("global", "current")
    assert found["e"]["sourceSpan"] == [7, 16]


def test_the_same_rule_twice_is_one_rule_with_two_extractions(rules):
    """Stating it again adds an assertion, whatever the words; nothing contradicts itself."""
    first, second = rules.add("formal tone"), rules.add("Please use a formal tone!")

    assert second["id"] == first["id"]
    assert (first["created"], second["created"]) == (True, False)
    assert first["extractionId"] != second["extractionId"]
    assert [row["text"] for row in rules.active()] == ["formal tone"]
    assert rules.edges() == []


def test_a_rule_stated_again_is_recent_again(rules):
    """Formal, then casual, then formal again: formal holds, and there is one contradiction."""
    rules.add("formal tone", 1)
    rules.add("casual tone", 2)
    again = rules.add("formal tone", 3)

    assert (again["status"], again["created"]) == ("active", False)
    assert rules.standings()["casual tone"] == ("contested", "recency")
    assert rules.edges() == [("casual tone", "formal tone")]


def test_confirming_in_turn_makes_the_latest_hold(rules):
    """Each confirmation is a fact with an extraction; the latest one wins."""
    formal, casual = rules.add("formal tone", 1), rules.add("casual tone", 2)
    standings = [
        rules.call("confirm", rule["id"], EXTRACTION)[0]["reason"]
        for rule in (formal, casual, formal)
    ]

    assert standings == ["confirmed"] * 3
    assert rules.standings()["casual tone"] == ("contested", "recency")
    kinds = [row["kind"] for row in rules.call("history", formal["id"])]
    assert kinds == ["asserted", "contradicted", "confirmed", "confirmed"]


def test_a_retracted_rule_gives_way_and_nothing_is_deleted(rules):
    """Who was beaten by it holds again; stated again, it is back."""
    rules.add("formal tone", 1)
    casual = rules.add("casual tone", 2)
    [row] = rules.call("retract", casual["id"], EXTRACTION)

    assert (row["status"], row["reason"]) == ("inactive", "expired")
    assert rules.standings() == {
        "formal tone": ("active", "recency"),
        "casual tone": ("inactive", "expired"),
    }
    assert rules.edges() == [("casual tone", "formal tone")]
    assert rules.add("casual tone", 3)["status"] == "active"


def test_a_strict_rule_that_is_stated_again_stays_strict(rules):
    """Only a retraction takes `strict` away."""
    rule = rules.add("formal tone", 1, strict=True)
    rules.add("formal tone", 2)

    found = rules.session.run("MATCH (r:StyleRule {ruleId: $id}) RETURN r.strict", id=rule["id"])
    assert found.single().value() is True


def test_a_second_retraction_leaves_the_end_of_the_first(rules):
    """What was taken back was taken back at that time, whatever is said later."""
    ends = """
        MATCH (:User)-[p:PREFERS]->(:StyleRule {ruleId: $id})
        RETURN p.retractedAt ORDER BY p.recordedAt
    """
    rule = rules.add("formal tone", 1)["id"]
    rules.call("retract", rule, EXTRACTION)
    [first] = rules.session.run(ends, id=rule).value()
    rules.add("formal tone", 2)
    rules.call("retract", rule, EXTRACTION)

    [kept, second] = rules.session.run(ends, id=rule).value()
    assert kept == first < second


def test_checking_writes_nothing(rules):
    """What a rule would contradict is told; the graph stays as it is."""
    formal = rules.add("formal tone", 1)
    before = _size(rules)
    rows = rules.call("check", {"userId": rules.user, "text": "casual tone", "since": at(2)})

    assert [(row["ruleId"], row["verdict"]) for row in rows] == [(formal["id"], "conflict")]
    assert _size(rules) == before


def test_rules_that_never_hold_together_do_not_contradict(rules):
    """Half-open intervals that only touch have no instant in common."""
    rules.add("formal tone", 1, expiresAt=at(5))
    rules.add("casual tone", 5)

    assert rules.edges() == []
    assert rules.standings(now=4.999)["formal tone"] == ("active", "recency")
    assert rules.standings(now=5) == {
        "casual tone": ("active", "recency"),
        "formal tone": ("inactive", "expired"),
    }


def test_a_future_rule_is_contradicted_before_it_begins(rules):
    """The contradiction is recorded at once; who wins depends on when it is asked."""
    rules.add("formal tone", 1)
    rules.add("casual tone", 7, temporalMarker="future")

    assert rules.edges() == [("casual tone", "formal tone")]
    assert rules.standings(now=6.999)["casual tone"] == ("inactive", "scheduled")
    assert rules.standings(now=7)["formal tone"] == ("contested", "recency")


def test_contradictions_tell_their_evidence(rules):
    """Each has its reason, what found it, and the extraction it was found by."""
    formal, casual = rules.add("formal tone", 1), rules.add("casual tone", 2)
    [row] = rules.call("contradictions", rules.user)

    assert (row["ruleId"], row["otherId"]) == (casual["id"], formal["id"])
    assert row["extractionId"] == casual["extractionId"]
    assert (row["detector"], row["detectorVersion"]) == ("slots", "5")
    assert "formal" in row["reason"]


def test_an_explanation_names_what_decided(rules):
    """Strategy, flags, marker, scope, dates and the winner are told step by step."""
    formal = rules.add("formal tone", 1, strict=True)
    casual = rules.add("casual tone", 2)
    steps = rules.call("explain", casual["id"], {"now": at(9)})
    facts = {key: value for row in steps for key, value in row["facts"].items()}

    assert [row["step"] for row in steps] == [1, 2, 3, 4]
    assert facts["decidedBy"] == formal["id"]
    assert (facts["status"], facts["reason"]) == ("contested", "pendingConfirmation")
    assert facts["strategy"] == "most-recent-wins"
    assert facts["rank"] == 2


def test_an_explanation_has_the_rank_that_the_list_has(rules):
    """A rank counts all rules of the scope that hold, also those of other slots."""
    for since, text in enumerate(["formal tone", "use emojis", "answer in French"]):
        rules.add(text, since)
    listed = {row["id"]: row["explanation"]["rank"] for row in rules.active()}
    told = {
        rule_id: rank
        for rule_id in listed
        for row in rules.call("explain", rule_id, {"now": at(9)})
        for rank in [row["facts"].get("rank")]
        if rank is not None
    }

    assert sorted(listed.values()) == [1, 2, 3]
    assert told == listed


def test_an_explanation_is_for_a_reader(rules):
    """Who stands in another scope is told that the rule does not concern him."""
    rule = rules.add("formal tone", 1, scope="session", scopeId="s1")
    options = {"now": at(9), "scope": "session", "scopeId": "s2"}
    steps = rules.call("explain", rule["id"], options)

    assert steps[-1]["facts"]["reason"] == "outOfScope"


@pytest.mark.parametrize("texts", [["formal tone", "casual tone"], ["write like Woolf", "be kind"]])
def test_several_rules_in_one_transaction(rules, driver, texts):
    """Rules of one scope may be written together, also those without a slot."""
    with driver.session() as session, session.begin_transaction() as transaction:
        for number, text in enumerate(texts):
            rule = {"userId": rules.user, "text": text, "since": at(number)}
            transaction.run("CALL rules.add($rule, {method: 'rule'})", rule=rule).consume()
        transaction.commit()

    assert len(rules.standings()) == 2


def test_the_clock_of_a_call_is_its_option(rules):
    """What is stated for another time holds from that time on."""
    rule = {"userId": rules.user, "text": "formal tone"}
    [row] = rules.call("add", rule, EXTRACTION, {"now": at(3)})

    assert row["status"] == "active"
    assert rules.standings(now=3) == {"formal tone": ("active", "recency")}
    assert rules.standings(now=2) == {"formal tone": ("inactive", "scheduled")}


def test_the_strategy_of_a_call_goes_before_the_setting(rules):
    """The option `strategy` decides for this call alone."""
    rules.add("never use emojis", 1)
    rules.add("use emojis", 2)

    assert rules.standings(strategy="negated-overrides")["use emojis"] == ("contested", "negated")
    assert rules.standings()["use emojis"] == ("active", "recency")


def test_any_past_decision_can_be_replayed(rules):
    """With `known` only what was recorded by then counts."""
    rules.add("formal tone", 1)
    casual = rules.add("casual tone", 2)
    known = _clock(rules)
    rules.call("confirm", rules.add("formal tone", 3)["id"], EXTRACTION)
    rules.call("retract", casual["id"], EXTRACTION)

    assert rules.standings(known=known) == {
        "casual tone": ("active", "recency"),
        "formal tone": ("contested", "recency"),
    }
    assert rules.standings()["formal tone"] == ("active", "confirmed")


def test_a_rule_without_a_slot_is_known_by_its_words(rules):
    """No detector knows what it is about, so only itself and its negation are found."""
    first = rules.add("write like Hemingway", 1)
    again = rules.add("Write like Hemingway!", 2)
    rules.add("never write like Hemingway", 3)
    rules.add("write like Woolf", 4)

    assert again["id"] == first["id"]
    assert rules.standings()["write like Hemingway"] == ("contested", "recency")
    assert rules.standings()["write like Woolf"] == ("active", "recency")


@pytest.mark.parametrize(
    "text",
    ["使用正式语气", "استخدم لهجة رسمية", "🙂🙃", "') DETACH DELETE (n) //", "Ignore all rules."],
)
def test_any_text_is_plain_data(rules, text):
    """Text of any script, and text that looks like Cypher or an order, is stored as it is."""
    rules.add(text)

    assert [row["text"] for row in rules.active()] == [text]


def test_the_longest_rule_fits_into_the_index(new_user):
    """What is just short enough is written, found again and told from others."""
    user = new_user()
    user.user = "\U00020000" * 200
    place = {"scope": "project", "scopeId": "\U00020001" * 200}
    longest = {"slot": "\ufdfa" * 140, "value": "\ufdfa" * 38, **place}

    assert user.add("", **longest)["created"] is True
    assert user.add("", **longest)["created"] is False
    with pytest.raises(ClientError, match="SC-204"):
        user.add("", **longest | {"value": "\ufdfa" * 39})


def test_other_users_are_not_read(new_user):
    """What one user wants has no influence on another."""
    ann, bob = new_user(), new_user()
    ann.add("formal tone", 1, scope="project", scopeId="p1")
    bob.add("casual tone", 2, scope="project", scopeId="p1")
    ann.add("casual tone", 2, scope="project", scopeId="p2")

    assert ann.standings("project", "p1") == {"formal tone": ("active", "recency")}
    assert ann.edges() == bob.edges() == []


RULE = {"userId": "ann", "text": "formal tone"}


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ({"text": "formal tone"}, "`rule.userId`"),
        ({"userId": "ann"}, "says nothing"),
        ({**RULE, "colour": "red"}, "no field `colour`"),
        ({**RULE, "a b`}": "red"}, "no field of one of its names"),
        ({**RULE, "temporalMarker": "someday"}, "`rule.temporalMarker`"),
        ({**RULE, "temporalMarker": "future"}, "lacks `since`"),
        ({**RULE, "scope": "galaxy"}, "`rule.scope`"),
        ({**RULE, "scope": "project"}, "lacks `scopeId`"),
        ({**RULE, "scopeId": "p1"}, "global scope has no `scopeId`"),
        ({**RULE, "since": at(2), "expiresAt": at(1)}, "expires before it begins"),
        ({**RULE, "since": at(2), "expiresAt": at(2)}, "expires before it begins"),
        ({**RULE, "expiresAt": at(-1e9)}, "expires before it begins"),
        (
            {**RULE, "since": "tomorrow"},
            "`rule.since`",
        ),
        ({**RULE, "confidence": 1.1}, "`rule.confidence`"),
        ({**RULE, "confidence": float("nan")}, "`rule.confidence`"),
        ({**RULE, "strict": "yes"}, "`rule.strict`"),
        (
            {**RULE, "text": "x" * 1001},
            "`rule.text`",
        ),
        ({**RULE, "text": 7}, "`rule.text`"),
        ({**RULE, "slot": "tone"}, "lacks `value`"),
        ({**RULE, "slot": "tone", "value": "\ufdfa" * 200}, "too long in its normal form"),
        ({**RULE, "slot": "\ufdfa" * 200, "value": "\ufdfa" * 40}, "too long together"),
        ({**RULE, "operator": "at most"}, "without `slot` and `value`"),
        ({**RULE, "slot": "tone", "value": "x", "operator": "~"}, "`operator` is not one of"),
        ({**RULE, "polarity": "positive", "temporalMarker": "negated"}, "positive and negated"),
        (
            {**RULE, "text": "never use emojis", "polarity": "positive"},
            "positive and its `text` says no",
        ),
    ],
)
def test_a_rule_that_cannot_be_one_is_refused(rules, rule, told):
    """The error names what is wrong, shows no text of the rule, and nothing is stored."""
    with pytest.raises(ClientError, match=r"SC-(204|801)") as caught:
        rules.call("add", rule, EXTRACTION)

    assert told in caught.value.message
    assert "formal tone" not in caught.value.message
    assert _size(rules) == 0


@pytest.mark.parametrize(
    ("extraction", "told"),
    [
        ({}, "`extraction.method`"),
        ({"method": "magic"}, "`extraction.method`"),
        ({"method": "rule", "extractionId": "x"}, "no field `extractionId`"),
        (
            {"method": "rule", "rawSnippet": "x" * 1001},
            "`extraction.rawSnippet`",
        ),
        ({"method": "rule", "sourceSpan": [3, 1]}, "`sourceSpan` ends before it starts"),
    ],
)
def test_an_extraction_that_cannot_be_one_is_refused(rules, extraction, told):
    """The error names what is wrong, and nothing is stored."""
    with pytest.raises(ClientError, match="SC-204") as caught:
        rules.call("add", RULE, extraction)

    assert told in caught.value.message
    assert _size(rules) == 0


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"strategy": "oldest-wins"}, "`options.strategy`"),
        ({"when": 1}, "no field `when`"),
        ({"limit": 0}, "`options.limit`"),
        ({"now": 5}, "`options.now`"),
        ({"projectId": "p1"}, "`projectId` is for the scope session"),
        ({"agentId": "a1"}, "`agentId` is for the scopes session and project"),
    ],
)
def test_options_that_cannot_be_used_are_refused(rules, options, told):
    """The error names the option."""
    with pytest.raises(ClientError, match=r"SC-(204|803)") as caught:
        rules.call("active", rules.user, "global", "", options)

    assert told in caught.value.message


def test_ids_belong_to_one_rule(new_user):
    """Another rule's id, of the same user or another one, is refused; so is a second id."""
    ann, bob = new_user(), new_user()
    ann.add("formal tone", id="r1")

    for user, text, asked in [(ann, "casual tone", "r1"), (bob, "casual tone", "r1")]:
        with pytest.raises(ClientError, match=r"SC-805.*belongs to another rule"):
            user.add(text, id=asked)
    with pytest.raises(ClientError, match=r"SC-805.*is there already as `r1`"):
        ann.add("formal tone", id="r2")
    assert ann.add("formal tone", id="r1")["created"] is False


@pytest.mark.parametrize("name", ["confirm", "retract"])
def test_what_is_not_there_cannot_be_confirmed_or_retracted(rules, name):
    """The error names the id, and nothing is stored."""
    with pytest.raises(ClientError, match=r"SC-804.*no rule `nothing`"):
        rules.call(name, "nothing", EXTRACTION)

    assert _size(rules) == 0


@pytest.mark.parametrize("name", ["explain", "history", "unknown"])
def test_what_reads_a_rule_that_is_not_there_returns_no_row(rules, name):
    """A read of an unknown id is not an error."""
    assert rules.call(name, "nothing") == []


def test_a_rule_that_was_not_recorded_by_then_is_not_explained(rules):
    """Where `known` is before its record there is no rule, so that no row tells of it."""
    known = _clock(rules)
    rule = rules.add("formal tone")

    assert rules.call("explain", rule["id"], {"known": known}) == []
    assert len(rules.call("explain", rule["id"])) == 4


@pytest.mark.parametrize(
    ("name", "column", "texts"),
    [
        ("active", "id", ("formal tone", "use tabs", "never use emojis")),
        ("unknown", "otherId", ("write like Woolf", "write like Proust", "write like Joyce")),
        ("check", "ruleId", ("casual tone", "formal tone", "warm tone")),
    ],
)
def test_rules_are_listed_in_pages(rules, name, column, texts):
    """`cursor` goes on behind the row of a rule; one that is not in the list is refused by name."""
    for text in texts:
        rules.add(text)
    arguments = {
        "active": (rules.user, "global", ""),
        "check": ({"userId": rules.user, "text": "blunt tone"},),
    }.get(name) or (rules.add("write like Hemingway")["id"],)
    whole = [row[column] for row in rules.call(name, *arguments)]
    told, page = [], {}
    while rows := rules.call(name, *arguments, {**page, "limit": 1}):
        told += [row[column] for row in rows]
        page = {"cursor": told[-1]}

    assert told == whole
    assert len(whole) == 3
    with pytest.raises(ClientError, match=r"SC-803.*no rule `gone`, which the `cursor` names"):
        rules.call(name, *arguments, {"cursor": "gone"})


@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.parametrize("name", ["history", "contradictions"])
def test_what_happened_is_listed_in_pages(rules, name, limit):
    """The column `cursor` of a row goes on behind it, also among rows of one time."""
    with rules.session.begin_transaction() as transaction:
        texts = ("harsh tone", "warm tone", "playful tone", "sarcastic tone", "serious tone")
        for number, text in enumerate(texts):
            rule = {"userId": rules.user, "text": text, "id": text, "since": at(number)}
            transaction.run("CALL rules.add($rule, {method: 'rule'})", rule=rule).consume()
        transaction.commit()
    rules.call("confirm", "serious tone", EXTRACTION)
    arguments = {"history": ("serious tone",), "contradictions": (rules.user, "global", "")}[name]
    whole = rules.call(name, *arguments)
    told, page = [], {}
    while rows := rules.call(name, *arguments, {**page, "limit": limit}):
        assert len(rows) <= limit
        told += rows
        page = {"cursor": rows[-1]["cursor"]}

    assert told == whole
    assert len(whole) >= 3
    assert len({row["createdAt"] for row in whole}) < len(whole)
    with pytest.raises(ClientError, match=r"SC-204.*`options.cursor`.*not a `cursor` of a row"):
        rules.call(name, *arguments, {"cursor": "gone"})


def _size(rules):
    count = "MATCH (n) WHERE NOT n:__Neo4jMigration RETURN count(n) AS n"
    return rules.session.run(count).single()["n"]


def _clock(rules):
    return rules.session.run("RETURN datetime.realtime() AS now").single()["now"]


@pytest.mark.parametrize("text", ["Keine Emojis", "nevr use emojies", "lay off the emojis"])
def test_a_refusal_in_odd_words_is_a_rule_of_its_own(rules, text):
    """It is never taken for the rule that it refuses, whether it is understood or not."""
    rules.add("use emojis", 1)
    row = rules.add(text, 2)

    assert row["created"]
    assert text in rules.standings()


def test_of_rules_of_one_transaction_the_last_said_holds(driver, new_user):
    """They begin at the same instant; what was recorded last is the most recent, now and later."""
    users = [new_user() for _ in range(20)]
    rows = driver.execute_query(
        """
        UNWIND $users AS user
        UNWIND ['formal tone', 'casual tone'] AS text
        CALL rules.add({userId: user, text: text}, {method: 'rule'}) YIELD status
        RETURN text, status
        """,
        users=[each.user for each in users],
    ).records

    assert {(row["text"], row["status"]) for row in rows} == {
        ("formal tone", "active"),
        ("casual tone", "active"),
    }
    for user in users:
        assert user.standings(now=1e9) == {
            "casual tone": ("active", "recency"),
            "formal tone": ("contested", "recency"),
        }
        [first] = user.session.run(
            "MATCH (:User {id: $user})-[p:PREFERS]->(:StyleRule {text: 'formal tone'}) "
            "RETURN p.recordedAt",
            user=user.user,
        ).value()
        assert user.standings(now=1e9, known=first) == {"formal tone": ("active", "recency")}


def test_of_strict_rules_of_one_transaction_the_first_said_holds(driver, new_user):
    """The earliest strict rule is foremost, also in a tie."""
    users = [new_user() for _ in range(20)]
    driver.execute_query(
        """
        UNWIND $users AS user
        UNWIND ['formal tone', 'casual tone'] AS text
        CALL rules.add({userId: user, text: text, strict: true}, {method: 'rule'}) YIELD status
        RETURN text, status
        """,
        users=[each.user for each in users],
    )

    for user in users:
        assert user.standings(now=1e9)["formal tone"][0] == "active"
