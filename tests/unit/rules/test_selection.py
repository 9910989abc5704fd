"""Which rules a reader gets out of the scopes that it can see."""

from dataclasses import replace
from unittest.mock import Mock

import pytest
from unit.rules.standing import asserted, contradictions, moment, rule

from sidecypher import Deadline
from sidecypher_procedures.rules import selection
from sidecypher_procedures.rules.detector.comparison import read_text
from sidecypher_procedures.rules.errors import InvalidArgument
from sidecypher_procedures.rules.model import Scope
from sidecypher_procedures.rules.options import PlaceOptions
from sidecypher_procedures.rules.selection import Reader, select
from sidecypher_procedures.rules.store import rules_of

PROJECT, SESSION = Scope("ann", "project", "p1"), Scope("ann", "session", "s1")
EVERYWHERE = Reader("ann", "p1", "s1")


def selected(rules, reader=EVERYWHERE, pairs=None, **more):
    found = select(rules, pairs or contradictions(), moment(**more), reader)
    return {each.contender.rule.rule_id: (each.status, each.reason) for each in found}


def formal(name, *assertions, **more):
    return rule(name, *assertions, value="formal", **more)


def casual(name, *assertions, **more):
    return rule(name, *assertions, value="casual", **more)


def test_session_goes_before_project_before_global():
    """The narrowest of three contradicting rules is active, and shadows both others."""
    rules = [
        formal("g", asserted(3)),
        casual("p", asserted(2), scope=PROJECT),
        formal("s", asserted(1), scope=SESSION),
    ]

    assert selected(rules) == {
        "s": ("active", "recency"),
        "p": ("shadowed", "narrowerScope"),
        "g": ("shadowed", "narrowerScope"),
    }
    assert selected(rules, Reader("ann", "p1"))["p"] == ("active", "recency")
    assert selected(rules, Reader("ann"))["p"] == ("inactive", "outOfScope")


def test_an_agent_is_between_project_and_global_and_a_team_is_the_broadest():
    """The rules of a team are those of a user of its own, and any narrower one shadows them."""
    rules = [
        formal("t", asserted(4), scope=Scope("core", "global")),
        casual("g", asserted(3)),
        formal("a", asserted(2), scope=Scope("ann", "agent", "a1")),
        casual("p", asserted(1), scope=PROJECT),
    ]

    def active(**where):
        found = selected(rules, Reader("ann", **where))
        return {name for name, decided in found.items() if decided == ("active", "recency")}

    assert active(team_id="core", agent_id="a1", project_id="p1") == {"p"}
    assert active(team_id="core", agent_id="a1") == {"a"}
    assert active(team_id="core") == active() == {"g"}
    assert active(team_id="ann") == {"g"}
    found = select(rules, contradictions(), moment(), Reader("ann", team_id="core", agent_id="a1"))
    assert [each.contender.rule.rule_id for each in found] == ["a", "g", "t", "p"]


def test_rules_of_other_objects_are_not_compared(monkeypatch):
    """Across scopes too, only what can conflict is looked at."""
    compared = []
    conflict = selection._conflict
    monkeypatch.setattr(
        selection, "_conflict", lambda one, other: compared.append(1) or conflict(one, other)
    )

    def about(name, scope, strict):
        made = formal(name, asserted(1, strict=strict), scope=scope)
        return replace(made, reading=replace(made.reading, object=name[1:]))

    rules = [about(f"g{n}", Scope("ann", "global"), n % 2 == 0) for n in range(500)]
    rules += [about(f"s{n}", SESSION, False) for n in range(500)]
    found = selected(rules)

    assert len(compared) <= 1000
    assert set(found.values()) == {("active", "recency")}


def test_texts_without_a_slot_shadow_across_scopes():
    """A session's rule in any words takes the place of a broader one that it refuses."""
    rules = [
        replace(formal(name, asserted(number), scope=scope), reading=read_text(text))
        for number, (name, scope, text) in enumerate(
            [
                ("g", Scope("ann", "global"), "Sharpen pencils"),
                ("s", SESSION, "Never sharpen pencils"),
            ]
        )
    ]

    assert selected(rules)["g"] == ("shadowed", "narrowerScope")


def test_reading_ends_with_the_deadline():
    """A thousand rules are read whatever the time, and no more once it is up."""

    class Records(list):
        closed = False

        def __iter__(self):
            for number in range(5000):
                self.append(number)
                yield {"rule": {"assertions": [], "contradictions": []}}

        def close(self):
            self.closed = True

    records = Records()
    found = rules_of(Mock(run=lambda *_, **__: records), EVERYWHERE.scopes, Deadline.after(0))
    assert (found.cut, len(records), records.closed) == (True, 1001, True)

    records = Records()
    found = rules_of(Mock(run=lambda *_, **__: records), EVERYWHERE.scopes, Deadline.after(60))
    assert (found.cut, len(records)) == (False, 5000)


def test_a_contested_rule_shadows_nothing():
    """Only an active rule of a narrower scope takes a broader one's place."""
    rules = [
        formal("g", asserted(1)),
        casual("old", asserted(2), scope=SESSION),
        formal("new", asserted(3), scope=SESSION),
    ]

    assert selected(rules, pairs=contradictions(("new", "old"))) == {
        "new": ("active", "recency"),
        "old": ("contested", "recency"),
        "g": ("active", "recency"),
    }


def test_the_same_rule_in_two_scopes_is_active_twice():
    """Saying the same in a narrower scope is no contradiction."""
    rules = [formal("g", asserted(1)), formal("s", asserted(2), scope=SESSION)]

    assert set(selected(rules).values()) == {("active", "recency")}


@pytest.mark.parametrize("confirmed", [False, True])
def test_a_strict_rule_blocks_unconfirmed_challengers_of_narrower_scopes(confirmed):
    """Until it is confirmed the challenger is contested, without any recorded contradiction."""
    rules = [
        formal("g", asserted(1, strict=True, confirmed=confirmed)),
        casual("s", asserted(2), scope=SESSION),
    ]

    assert selected(rules) == {
        "g": ("active", "confirmed" if confirmed else "recency"),
        "s": ("contested", "pendingConfirmation"),
    }


def test_a_confirmed_challenger_shadows_a_strict_rule():
    """Confirmed, the narrower rule holds in its scope."""
    rules = [
        formal("g", asserted(1, strict=True)),
        casual("s", asserted(2), scope=SESSION, confirmed=[3]),
    ]

    assert selected(rules) == {
        "s": ("active", "confirmed"),
        "g": ("shadowed", "narrowerScope"),
    }


def test_a_blocked_challenger_beats_nobody():
    """What a blocked rule would have beaten in its own scope holds."""
    rules = [
        formal("g", asserted(1, strict=True)),
        formal("s1", asserted(2), scope=SESSION),
        casual("s2", asserted(3), scope=SESSION),
    ]

    found = selected(rules, pairs=contradictions(("s2", "s1")))
    assert found["s1"] == ("active", "recency")
    assert found["s2"] == ("contested", "pendingConfirmation")


def test_a_shadowed_strict_rule_blocks_nobody():
    """Once a confirmed rule took its place, a strict rule has no say in narrower scopes."""
    rules = [
        formal("g", asserted(1, strict=True)),
        casual("p", asserted(2), scope=PROJECT, confirmed=[2]),
        casual("s", asserted(3), scope=SESSION),
    ]

    assert selected(rules)["s"] == ("active", "recency")


def test_active_rules_come_first_the_narrowest_foremost():
    """The order of the answer is always the same."""
    rules = [
        formal("g", asserted(1)),
        casual("s", asserted(2), scope=SESSION),
        rule("past", asserted(1, marker="past"), value="warm"),
    ]

    assert list(selected(rules)) == ["s", "g", "past"]


def test_what_was_not_recorded_by_then_is_not_there():
    """A replay does not list what came later."""
    rules = [formal("a", asserted(1)), casual("b", asserted(2))]

    assert list(selected(rules, known=1.5)) == ["a"]


@pytest.mark.parametrize(
    ("scope", "place"),
    [
        (("ann", "galaxy", "x"), {}),
        (("ann", "project", ""), {}),
        (("ann", "session", " "), {}),
        (("ann", "agent", ""), {}),
        (("ann", "global", "p1"), {}),
        (("", "global", ""), {}),
        (("ann", "project", "p1"), {"project_id": "p2"}),
        (("ann", "global", ""), {"project_id": "p2"}),
        (("ann", "agent", "a1"), {"agent_id": "a2"}),
        (("ann", "global", ""), {"agent_id": "a2"}),
    ],
)
def test_a_reader_stands_somewhere(scope, place):
    """A scope has an id where it needs one, and only there; further scopes are broader ones."""
    with pytest.raises(InvalidArgument):
        Reader.parse(*scope, PlaceOptions(**place))


def test_a_session_may_stand_in_a_project():
    """With its project named, a session sees the project's rules too."""
    reader = Reader.parse("ann", "session", "s1", PlaceOptions(project_id="p1"))

    assert reader == EVERYWHERE
    assert [scope.kind for scope in reader.scopes] == ["global", "project", "session"]
