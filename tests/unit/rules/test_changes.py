"""What stating a rule reads."""

from unittest.mock import Mock

from unit.rules.standing import ORIGIN, moment

from sidecypher_procedures.rules import changes, store
from sidecypher_procedures.rules.detector.comparison import read_text
from sidecypher_procedures.rules.model import Lock, Scope, Source, StatedRule

SCOPE = Scope("ann", "global")


def test_the_rules_of_a_slot_are_read_once():
    """What it may equal and what it may contradict are the same rules."""
    reads = []
    run = Mock(side_effect=lambda statement, **_: reads.append(statement) or [])
    stated = StatedRule(SCOPE, read_text("never use emojis"), "never use emojis", "current")
    held = Lock(SCOPE, 1, ORIGIN, ORIGIN)

    written = changes.state_rule(Mock(run=run), stated, Source("rule"), held, moment())

    assert (written.created, written.contradicts) == (True, [])
    assert reads == [store._ALIKE, changes._CREATE]
