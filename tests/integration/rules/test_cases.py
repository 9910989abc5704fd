"""The cases of the specification, each in every order of insertion, on a real Neo4j."""

from itertools import permutations

import pytest

FORMAL, CASUAL = "formal tone", "casual tone"
EMOJIS, NO_EMOJIS = "use emojis", "never use emojis"

RECENCY, CONFIRMED, PENDING = "recency", "confirmed", "pendingConfirmation"


def rule(text, since, **more):
    return {"text": text, "since": since, **more}


# What is stated, what is active, and what is not, with status and reason.
CASES = {
    "the later one wins": (
        [rule(FORMAL, 1), rule(CASUAL, 2)],
        {CASUAL},
        {FORMAL: ("contested", RECENCY)},
    ),
    "the later one wins, also when the earlier comes late": (
        [rule(CASUAL, 5), rule(FORMAL, 1)],
        {CASUAL},
        {FORMAL: ("contested", RECENCY)},
    ),
    "a confirmed one wins": (
        [rule(FORMAL, 1, confirmed=True), rule(CASUAL, 2)],
        {FORMAL},
        {CASUAL: ("contested", CONFIRMED)},
    ),
    "of two confirmed ones the later": (
        [rule(FORMAL, 1, confirmed=True), rule(CASUAL, 2, confirmed=True)],
        {CASUAL},
        {FORMAL: ("contested", RECENCY)},
    ),
    "a strict one holds": (
        [rule(FORMAL, 1, strict=True), rule(CASUAL, 2)],
        {FORMAL},
        {CASUAL: ("contested", PENDING)},
    ),
    "of two strict ones the earlier": (
        [rule(FORMAL, 1, strict=True), rule(CASUAL, 2, strict=True)],
        {FORMAL},
        {CASUAL: ("contested", PENDING)},
    ),
    "a negation wins when it is later": (
        [rule(EMOJIS, 1), rule(NO_EMOJIS, 2, temporalMarker="negated")],
        {NO_EMOJIS},
        {EMOJIS: ("contested", RECENCY)},
    ),
    "a negation loses when it is earlier": (
        [rule(NO_EMOJIS, 1), rule(EMOJIS, 2)],
        {EMOJIS},
        {NO_EMOJIS: ("contested", RECENCY)},
    ),
    "two negations never contradict": (
        [rule(NO_EMOJIS, 1), rule("never emojis in titles", 2, temporalMarker="negated")],
        {NO_EMOJIS, "never emojis in titles"},
        {},
    ),
    "what is past contradicts nothing": (
        [rule(FORMAL, 1), rule("used to like casual", 2, temporalMarker="past")],
        {FORMAL},
        {"used to like casual": ("inactive", "past")},
    ),
}


@pytest.mark.parametrize("write", ["add", "add_plainly"])
@pytest.mark.parametrize("case", CASES)
def test_a_case_in_every_order(new_user, case, write):
    """The active set depends on what was stated, never on the order in which it arrived.

    It makes no difference whether rules come by the procedure, or by plain Cypher and the trigger.
    """
    stated, active, rest = CASES[case]
    contradicting = [text for text, standing in rest.items() if standing[0] == "contested"]

    for order in permutations(stated):
        user = new_user()
        for each in order:
            getattr(user, write)(**each)

        expected = dict.fromkeys(active, "active")
        found = user.standings()
        assert {text for text, (status, _) in found.items() if status == "active"} == active
        assert {text: found[text] for text in rest} == rest
        assert len(found) == len(expected | rest)
        # The relationship leads from what was recorded later.
        texts = [each["text"] for each in order]
        assert user.edges() == ([(texts[1], texts[0])] if contradicting else [])


@pytest.mark.parametrize("write", ["add", "add_plainly"])
@pytest.mark.parametrize("first", ["global", "session"])
def test_a_narrower_scope_shadows(rules, first, write):
    """In its session a rule shadows the contradicting global one; elsewhere nothing changes."""
    stated = [rule(FORMAL, 1), rule(CASUAL, 2, scope="session", scopeId="s1")]
    for each in stated if first == "global" else reversed(stated):
        getattr(rules, write)(**each)

    assert rules.standings("session", "s1") == {
        CASUAL: ("active", RECENCY),
        FORMAL: ("shadowed", "narrowerScope"),
    }
    assert rules.standings("session", "s2") == {FORMAL: ("active", RECENCY)}
    assert rules.edges() == []


@pytest.mark.parametrize("write", ["add", "add_plainly"])
def test_other_projects_and_users_have_no_say(new_user, write):
    """A rule of another project, or of another user's project of that name, contradicts nothing."""
    for order in permutations(range(3)):
        one, other = new_user(), new_user()
        stated = [
            (one, rule(FORMAL, 1, scope="project", scopeId="p1")),
            (one, rule(CASUAL, 2, scope="project", scopeId="p2")),
            (other, rule(CASUAL, 3, scope="project", scopeId="p1")),
        ]
        for place in order:
            user, each = stated[place]
            getattr(user, write)(**each)

        assert one.standings("project", "p1") == {FORMAL: ("active", RECENCY)}
        assert one.edges() == other.edges() == []
