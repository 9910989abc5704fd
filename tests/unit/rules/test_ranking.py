"""Who wins among the rules of one scope."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.rules.standing import asserted, contradictions, moment, rule

from sidecypher_procedures.rules.model import Contradictions
from sidecypher_procedures.rules.ranking import Contender, decide, explanation, ranked

STRATEGIES = ("most-recent-wins", "user-confirmation", "negated-overrides")


def decided(rules, pairs=(), **more):
    """Tell status and reason of each rule by its name."""
    when = moment(**more)
    contenders = [Contender.at(each, when) for each in rules]
    found = decide(contenders, pairs or contradictions(), when)
    return {each.contender.rule.rule_id: (each.status, each.reason) for each in found}


def test_a_rule_comes_back_when_its_winner_is_beaten():
    """What is beaten by a rule that is itself beaten holds again."""
    rules = [rule("a", asserted(1)), rule("b", asserted(2)), rule("c", asserted(3))]

    assert decided(rules, contradictions(("b", "a"), ("c", "b"))) == {
        "c": ("active", "recency"),
        "b": ("contested", "recency"),
        "a": ("active", "recency"),
    }


def test_rules_without_contradictions_are_not_compared():
    """What a decision costs grows with the contradictions, not with the pairs of rules."""

    class Counted(Contradictions):
        pairs = 0

        def between(self, one, other):
            self.pairs += 1
            return super().between(one, other)

    counted = contradictions(("r1", "r0"), of=Counted)
    statuses = decided([rule(f"r{n}", asserted(n)) for n in range(1000)], counted, now=2000)

    assert counted.pairs <= 2
    assert [name for name, (status, _) in statuses.items() if status != "active"] == ["r0"]


def test_an_explanation_names_the_latest_extractions():
    """A rule that was stated very often has a row of bounded size."""
    stated = rule("a", *(asserted(n) for n in range(1000)))
    [decision] = decide([Contender.at(stated, moment())], contradictions(), moment())

    found = explanation(decision, moment())["extractionIds"]
    assert found == [f"x{n}" for n in range(999, 899, -1)]


def test_a_rule_comes_back_when_its_winner_expires():
    """At the instant of its expiry the winner holds no longer, and the other one holds again."""
    rules = [rule("a", asserted(1)), rule("b", asserted(2, 5))]
    pairs = contradictions(("b", "a"))

    assert decided(rules, pairs, now=4.999999)["a"] == ("contested", "recency")
    assert decided(rules, pairs, now=5) == {
        "a": ("active", "recency"),
        "b": ("inactive", "expired"),
    }


def test_a_rule_holds_from_the_instant_it_begins():
    """`since` belongs to the time in which a rule holds."""
    later = rule("a", asserted(3, marker="future"))

    assert decided([later], now=2.999999) == {"a": ("inactive", "scheduled")}
    assert decided([later], now=3) == {"a": ("active", "recency")}


def test_stating_it_again_makes_it_recent():
    """Recency uses the latest assertion that has begun."""
    rules = [rule("f", asserted(1), asserted(3)), rule("k", asserted(2))]
    pairs = contradictions(("k", "f"))

    assert decided(rules, pairs)["f"] == ("active", "recency")
    assert decided(rules, pairs, now=2.5)["k"] == ("active", "recency")


@pytest.mark.parametrize(
    ("strategy", "winner", "reason"),
    [
        ("most-recent-wins", "b", "recency"),
        ("user-confirmation", "a", "pendingConfirmation"),
        ("negated-overrides", "a", "negated"),
    ],
)
def test_the_strategy_decides_between_unconfirmed_rules(strategy, winner, reason):
    """The latest, the earliest, or what is negated wins."""
    rules = [rule("a", asserted(1), polarity="negative"), rule("b", asserted(2))]
    found = decided(rules, contradictions(("b", "a")), strategy=strategy)
    [loser] = {"a", "b"} - {winner}

    assert found[winner][0] == "active"
    assert found[loser] == ("contested", reason)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_was_confirmed_last_wins_whatever_the_strategy(strategy):
    """Confirming this and that in turn makes the latest one hold."""
    first = [rule("a", asserted(1), confirmed=[3]), rule("b", asserted(2), confirmed=[4])]
    again = [rule("a", asserted(1), confirmed=[3, 5]), rule("b", asserted(2), confirmed=[4])]
    pairs = contradictions(("b", "a"))

    assert decided(first, pairs, strategy=strategy)["a"] == ("contested", "recency")
    assert decided(again, pairs, strategy=strategy)["b"] == ("contested", "recency")


def test_a_confirmed_challenger_overrides_a_strict_rule():
    """Confirming is what a strict rule waits for."""
    strict = rule("a", asserted(1, strict=True))
    pairs = contradictions(("b", "a"))

    assert decided([strict, rule("b", asserted(2))], pairs)["b"] == (
        "contested",
        "pendingConfirmation",
    )
    assert decided([strict, rule("b", asserted(2), confirmed=[3])], pairs)["a"] == (
        "contested",
        "confirmed",
    )


def test_a_tie_goes_to_the_negated_rule_then_to_the_smaller_id():
    """The order among equals is always the same."""
    pairs = contradictions(("b", "a"))
    negated = [rule("a", asserted(1)), rule("b", asserted(1), polarity="negative")]
    equal = [rule("b", asserted(1)), rule("a", asserted(1))]

    assert decided(negated, pairs)["a"] == ("contested", "negated")
    assert decided(equal, pairs)["b"] == ("contested", "recency")


def test_low_confidence_is_only_suspected():
    """Below the floor a rule neither holds nor beats another; at the floor it does."""
    rules = [rule("a", asserted(1)), rule("b", asserted(2, confidence=0.4))]
    pairs = contradictions(("b", "a"))

    assert decided(rules, pairs, confidence_floor=0.5) == {
        "a": ("active", "recency"),
        "b": ("contested", "suspected"),
    }
    assert decided(rules, pairs, confidence_floor=0.4)["b"] == ("active", "recency")


def test_a_suspicion_never_overrides_in_silence():
    """What only a model suspects is told as suspected."""
    rules = [rule("a", asserted(1)), rule("b", asserted(2))]
    suspected = contradictions(("b", "a"), verdict="suspected")

    assert decided(rules, suspected)["a"] == ("contested", "suspected")


@pytest.mark.parametrize(
    ("given", "other", "strategy", "reason"),
    [
        ([(1, None), (100, None, "future", "confirmed")], 2, "most-recent-wins", "recency"),
        ([(1, None), (100, None, "future", "strict")], 2, "most-recent-wins", "recency"),
        ([(1, 5, "current", "confirmed"), (6, None)], 7, "most-recent-wins", "recency"),
        ([(1, 5, "current", "strict"), (6, None)], 7, "most-recent-wins", "recency"),
        ([(1, None, "past", "confirmed"), (6, None)], 7, "most-recent-wins", "recency"),
        ([(1, None, "past"), (5, None)], 3, "user-confirmation", "pendingConfirmation"),
        ([(1, 2), (5, None)], 3, "user-confirmation", "pendingConfirmation"),
    ],
)
def test_what_does_not_hold_lends_no_weight(given, other, strategy, reason):
    """Scheduled, expired and past assertions confirm nothing, block nothing and begin nothing."""
    stated = [
        asserted(since, end, marker=(*more, "current")[0], **dict.fromkeys(more[1:], True))
        for since, end, *more in given
    ]
    rules = [rule("f", *stated), rule("k", asserted(other))]

    assert decided(rules, contradictions(("k", "f")), strategy=strategy) == {
        "f": ("contested", reason),
        "k": ("active", "recency"),
    }


def test_a_confirmation_of_its_own_outlives_what_it_was_said_about():
    """What `rules.confirm` wrote counts at any `now`, also when the first assertion has ended."""
    rules = [rule("f", asserted(1, 5), asserted(6), confirmed=[2]), rule("k", asserted(7))]

    assert decided(rules, contradictions(("k", "f")))["f"] == ("active", "confirmed")


def test_taking_a_rule_back_ends_its_confirmations():
    """Stated again after a retraction, a rule must be confirmed again."""
    taken_back = rule("a", asserted(1, retracted=4), asserted(5), confirmed=[2])
    pairs = contradictions(("b", "a"))

    assert decided([taken_back, rule("b", asserted(6))], pairs)["b"] == ("active", "recency")
    gone = rule("a", asserted(1, retracted=4), confirmed=[2])
    assert decided([gone, rule("b", asserted(0))], pairs) == {
        "a": ("inactive", "expired"),
        "b": ("active", "recency"),
    }


def test_known_replays_what_was_recorded_by_then():
    """A confirmation and a retraction count from their record on."""
    rules = [rule("a", asserted(1), confirmed=[5]), rule("b", asserted(2, retracted=7))]
    pairs = contradictions(("b", "a"))

    assert decided(rules, pairs, known=4)["b"] == ("active", "recency")
    assert decided(rules, pairs, known=6)["b"] == ("contested", "confirmed")
    assert decided(rules, pairs, known=8)["b"] == ("inactive", "expired")


def test_what_has_not_begun_breaks_no_tie():
    """Of two strict rules of one instant the id decides, and not what one of them will be later."""
    later = asserted(10, recorded=0)
    rules = [
        rule("c", asserted(1, recorded=1, strict=True)),
        rule("d", asserted(1, recorded=1, strict=True), later),
    ]

    assert decided(rules, contradictions(("d", "c")), now=5)["c"] == ("active", "recency")


instants = st.integers(0, 12)
assertions = st.builds(
    lambda since, length, recorded, **more: asserted(
        since, None if length is None else since + length, recorded=recorded, **more
    ),
    since=instants,
    length=st.none() | st.integers(1, 6),
    recorded=instants,
    marker=st.sampled_from(["current", "past", "negated"]),
    confirmed=st.booleans(),
    strict=st.booleans(),
    confidence=st.none() | st.floats(0, 1),
)
names = "abcde"
sets = st.tuples(
    *(
        st.builds(
            lambda given, polarity, confirmed, name=name: rule(
                name, *given, polarity=polarity, confirmed=confirmed
            ),
            given=st.lists(assertions, min_size=1, max_size=3),
            polarity=st.sampled_from(["positive", "negative"]),
            confirmed=st.lists(instants, max_size=2),
        )
        for name in names
    )
)
edges = st.sets(st.sampled_from([(a, b) for a in names for b in names if a < b]))


@given(sets, edges, st.sampled_from(STRATEGIES), st.randoms())
def test_the_decision_depends_on_the_set_alone(rules, pairs, strategy, random):
    """Another order gives the same; no two active rules contradict; losers know their winner."""
    recorded = contradictions(*pairs)
    when = moment(strategy=strategy, confidence_floor=0.2)
    shuffled = [replace(each, assertions=_shuffled(each.assertions, random)) for each in rules]
    random.shuffle(shuffled)
    found = decide([Contender.at(each, when) for each in rules], recorded, when)
    again = decide([Contender.at(each, when) for each in shuffled], recorded, when)

    assert {_outcome(each) for each in found} == {_outcome(each) for each in again}
    active = {each.contender.rule.rule_id for each in found if each.status == "active"}
    assert not [pair for pair in pairs if set(pair) <= active]
    for each in found:
        if each.rank is not None and each.status == "contested":
            name = each.contender.rule.rule_id
            assert each.by.rule_id in active
            assert tuple(sorted((name, each.by.rule_id))) in pairs


@given(sets, edges, st.sampled_from(STRATEGIES))
def test_what_does_not_hold_decides_nothing(rules, pairs, strategy):
    """Where something of a rule holds, what has ended or not begun could as well be missing."""
    recorded, when = contradictions(*pairs), moment(strategy=strategy, confidence_floor=0.2)
    lasting = [
        replace(each, assertions=holding or each.assertions)
        for each in rules
        for holding in [tuple(one for one in each.assertions if one.holds(when.now))]
    ]
    found, again = (
        decide([Contender.at(each, when) for each in some], recorded, when)
        for some in (rules, lasting)
    )

    assert [_outcome(each) for each in found] == [_outcome(each) for each in again]


def _shuffled(assertions, random):
    return tuple(random.sample(assertions, len(assertions)))


def _outcome(decision):
    contender, by = decision.contender, decision.by
    return (
        contender.rule.rule_id,
        contender.assertion,
        decision.status,
        decision.reason,
        decision.rank,
        by and by.rule_id,
    )


def test_confidence_takes_nothing_back():
    """Said again with less confidence than the floor, a rule still holds as it was said before."""
    rules = [
        rule("a", asserted(1, confidence=0.9), asserted(3, confidence=0.1)),
        rule("b", asserted(2)),
    ]
    found = decided(rules, contradictions(("b", "a")), confidence_floor=0.5)

    assert found == {"b": ("active", "recency"), "a": ("contested", "recency")}


def test_what_the_user_confirmed_is_not_doubted():
    """A confirmation goes before the confidence of whoever found the rule."""
    sure = rule("a", asserted(1, confidence=0.1), confirmed=[2])

    assert decided([sure], confidence_floor=0.5) == {"a": ("active", "confirmed")}


def test_what_was_said_later_is_not_told_before():
    """Of a rule that was taken back, a replay tells what was known then."""
    known = moment(known=5)
    found = Contender.at(rule("a", asserted(1, retracted=4), asserted(8)), known)

    assert found.assertion == asserted(1, retracted=4)


def test_ranks_follow_confirmation_then_strictness_then_the_strategy():
    """Confirmed before strict before the others."""
    when = moment()
    rules = [
        rule("late", asserted(8)),
        rule("strict", asserted(2, strict=True)),
        rule("earlier strict", asserted(1, strict=True)),
        rule("confirmed", asserted(0), confirmed=[1]),
        rule("confirmed later", asserted(0), confirmed=[2]),
    ]
    order = ranked([Contender.at(each, when) for each in rules], "most-recent-wins")

    assert [each.rule.rule_id for each in order] == [
        "confirmed later",
        "confirmed",
        "earlier strict",
        "strict",
        "late",
    ]
