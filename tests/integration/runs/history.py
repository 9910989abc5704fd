"""What writers of runs were told, and whether the graph agrees.

A history is written down by the writers themselves: what was acknowledged, and what was refused or
rolled back. `faults` compares it with the graph, which it reads by plain Cypher.
"""

import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Told:
    """An append as its writer saw it.

    Attributes:
        run: The run.
        id: The event's id.
        parents: The parents that were given, None for the latest event, `join` for all leaves.
        seq: The place that was acknowledged.
        digest: The digest that was acknowledged.
        text: Whether it was given a text.
    """

    run: str
    id: str
    parents: object = None
    seq: int | None = None
    digest: str | None = None
    text: bool = False


@dataclass(frozen=True)
class Forked:
    """A fork as who began it saw it: its origin, and the last place that they share."""

    origin: str
    seq: int


@dataclass(frozen=True)
class Stored:
    """An event of the graph; `empty` says that it has no text, `moment` when it was."""

    id: str
    seq: int
    parents: frozenset
    digest: str | None = None
    content_digest: str | None = None
    moment: int | None = None
    empty: bool = True


@dataclass
class History:
    """All that writers were told.

    Attributes:
        acknowledged: What was committed.
        refused: Ids of what must not be there.
        deleted: Ids of what must have no text any more.
        forks: What was forked, by id.
    """

    acknowledged: list = field(default_factory=list)
    refused: list = field(default_factory=list)
    deleted: list = field(default_factory=list)
    forks: dict = field(default_factory=dict)


def stored(session, run, forks=None):
    """Read the events of a run, those that it shares too, by plain Cypher."""
    fork = (forks or {}).get(run)
    shared = [] if fork is None else stored(session, fork.origin, forks)[: fork.seq]
    found = session.run(
        """
        MATCH (e:Event {runId: $run})
        RETURN e.id AS id, e.seq AS seq, e.digest AS digest, e.contentDigest AS contentDigest,
            e.createdAt.epochSeconds * 1000000000 + e.createdAt.nanosecond AS moment,
            [(p)-[:NEXT]->(e) | p.id] AS parents,
            e.content IS NULL AND NOT EXISTS { (e)-[:HAS_PAYLOAD]->() } AS empty
        ORDER BY e.seq
        """,
        run=run,
    )
    return shared + [
        Stored(
            record["id"],
            record["seq"],
            frozenset(record["parents"]),
            record["digest"],
            record["contentDigest"],
            record["moment"],
            record["empty"],
        )
        for record in found
    ]


def faults(history, run, events):
    """Tell everything that is wrong with a run; an empty list says that nothing is."""
    return [
        *_order(events),
        *_lineage(history, run, events),
        *_promises(history, run, events),
        *_digests(events),
        *_texts(history, events),
    ]


def _order(events):
    seqs = [event.seq for event in events]
    if sorted(seqs) != list(range(1, len(seqs) + 1)):
        yield "the places have gaps or are taken twice"
    if any(count > 1 for count in Counter(event.id for event in events).values()):
        yield "an event is there twice"


def _lineage(history, run, events):
    places = {event.id: event.seq for event in events}
    given = {told.id: told.parents for told in history.acknowledged if told.run == run}
    for event in events:
        if any(places.get(parent, event.seq) >= event.seq for parent in event.parents):
            yield f"{event.seq} follows an event that is not before it in its run"
        if event.seq > 1 and not event.parents:
            yield f"{event.seq} follows nothing"
        wanted = given.get(event.id, event.parents)
        before = {events[event.seq - 2].id} if 1 < event.seq <= len(events) else set()
        if wanted is None and event.parents != before:
            yield f"{event.seq} does not follow the event before it"
        if wanted == "join":
            wanted = _leaves(events, event.seq)
        if isinstance(wanted, frozenset) and wanted != event.parents:
            yield f"{event.seq} does not follow the parents that were given"
    if sum(not event.parents for event in events) > 1:
        yield "the run begins more than once"


def _leaves(events, seq):
    """The events before a place that nothing before it follows."""
    before = [event for event in events if event.seq < seq]
    followed = frozenset().union(*(event.parents for event in before))
    return frozenset(event.id for event in before) - followed


def _promises(history, run, events):
    there = {event.id: event for event in events}
    for told in history.acknowledged:
        if told.run != run:
            continue
        event = there.get(told.id)
        if event is None:
            yield f"{told.seq} was acknowledged and is lost"
        elif (event.seq, event.digest) != (told.seq, told.digest):
            yield f"{told.seq} was acknowledged and is another one"
    expected = {told.id for told in history.acknowledged}
    if any(event.id not in expected for event in events):
        yield "an event is there that nobody has written"
    if any(name in there for name in history.refused):
        yield "an event is there that was refused or rolled back"


def _digests(events):
    """Compute the chain anew, without the code that made it."""
    digests = {event.id: event.digest for event in events}
    for event in events:
        if event.digest is None:
            continue
        parents = sorted(digests.get(parent) or "" for parent in event.parents)
        parts = [2, event.content_digest, event.seq, parents, event.moment, None]
        text = json.dumps(parts, separators=(",", ":"))
        if event.digest != hashlib.sha256(text.encode()).hexdigest():
            yield f"{event.seq} has a digest that does not fit"


def _texts(history, events):
    deleted = set(history.deleted)
    written = {told.id for told in history.acknowledged if told.text} - deleted
    for event in events:
        if event.id in deleted and not event.empty:
            yield f"{event.seq} was deleted and has a text"
        if event.id in written and event.empty:
            yield f"{event.seq} has lost its text"
