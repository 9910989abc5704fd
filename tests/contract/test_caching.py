"""Which rows a sidecar lets plugins keep, and how long."""

import math
import uuid

import pytest

from sidecypher import invalidate
from sidecypher.calls.dispatcher import Dispatcher, Session
from sidecypher.host.epochs import FILE, Epochs
from sidecypher.host.limits import Limits
from sidecypher.protocol import envelope
from sidecypher.sdk.caching import invalidate_all, share_epochs, unshare_epochs
from sidecypher.sdk.call import Call
from sidecypher.telemetry.calls import Telemetry


def answer(_method, _request):
    """Answer a statement as Neo4j does for `RETURN 1`."""
    return envelope.RunReply(["1"], [[1]])


class Peer:
    """A plugin that calls the procedures of `tests/procedures/cached.py`."""

    def __init__(self, stand, epochs):
        self.epochs = epochs
        self.registry = stand.loaded.registry
        self.dispatcher = Dispatcher(
            self.registry,
            stand.loop,
            stand.resources,
            Telemetry(),
            Limits(),
            workers=stand.workers,
            epochs=epochs,
        )

    def validity(self, name, *arguments):
        """Call a procedure; return what its reply says of keeping."""
        request = envelope.CallRequest(
            id=uuid.uuid4().hex,
            name=name,
            database="neo4j",
            user="ann",
            signature=self.registry.get(name, "procedure").entry.signature,
            args=list(arguments),
            remaining_ms=60_000,
            mode="READ",
        )
        reply = self.dispatcher.call(request, Session(answer))
        assert isinstance(reply, envelope.PageReply)
        return reply.cache


@pytest.fixture
def peer(stand, tmp_path):
    epochs = Epochs.open(tmp_path)
    share_epochs(epochs)
    yield Peer(stand, epochs)
    unshare_epochs(epochs)
    epochs.close()


def test_a_reply_says_how_long_its_rows_may_be_kept(peer):
    """It has the seconds of the decorator, or those of `ctx.cache`, and the epochs of the tags."""
    plain = peer.validity("cached.plain", "k")
    tagged = peer.validity("cached.tagged", "k", 1.5, ["a", "b"])

    assert plain == envelope.Validity(peer.epochs.identity, 60_000, peer.epochs.of([]))
    assert tagged == envelope.Validity(peer.epochs.identity, 1500, peer.epochs.of(["a", "b"]))
    assert len(tagged.epochs) == 3


@pytest.mark.parametrize("seconds", [1e9, math.inf])
def test_no_row_is_kept_for_longer_than_a_day(peer, seconds):
    """A longer time is cut, so that it is a number on the wire."""
    assert peer.validity("cached.tagged", "k", seconds, []).ms == 86_400_000


def test_what_uses_the_graph_is_not_kept(peer):
    """A body that has used `ctx.run` may depend on what changes without an invalidation."""
    assert peer.validity("cached.fromGraph", "k") is None


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("cached.tagged", ["k", 0.0, []]),
        ("cached.many", ["k", 1001]),
        ("test.echo", ["k"]),
    ],
)
def test_nothing_is_kept(peer, name, arguments):
    """Not of a call that says 0 seconds, has more than a page, or whose procedure has no cache."""
    assert peer.validity(name, *arguments) is None


def test_a_worker_says_it_too(peer):
    """`ctx.cache` has its effect in a worker process too."""
    assert peer.validity("cached.taggedWorker", "k", 2.0, ["w"]) == envelope.Validity(
        peer.epochs.identity, 2000, peer.epochs.of(["w"])
    )


def test_a_change_during_a_call_keeps_nothing(peer):
    """Whatever is invalidated while a body runs, its rows may be from before."""
    assert peer.validity("cached.invalidating", "k") is None
    assert peer.validity("cached.plain", "k") is not None


def test_an_invalidation_replaces_the_epochs_of_its_tags(peer):
    """Those of other tags stay; without a tag nothing changes, and all ends everything."""
    before, change = peer.epochs.of(["a", "b"]), peer.epochs.change
    invalidate()
    assert peer.epochs.of(["a", "b"]) == before

    invalidate("a")
    after = peer.epochs.of(["a", "b"])
    changed = [new != old for new, old in zip(after, before, strict=True)]
    assert sum(changed) == 1
    assert not changed[0]
    assert peer.epochs.change != change

    invalidate_all()
    assert peer.epochs.of([])[0] != after[0]


@pytest.mark.parametrize(
    ("seconds", "tags", "error"),
    [
        (-1.0, [], ValueError),
        (math.nan, [], ValueError),
        ([], [], TypeError),
        (1.0, [1], TypeError),
    ],
)
def test_a_body_learns_of_a_wrong_time_or_tag(seconds, tags, error):
    """`ctx.cache` raises where it is called."""
    with pytest.raises(error):
        Call("1", "kg.x", "neo4j", "ann").cache(seconds, tuple(tags))


def test_of_several_times_the_shortest_counts():
    """And all tags do."""
    call = Call("1", "kg.x", "neo4j", "ann")
    for seconds, tag in ((2.0, "a"), (1.0, "b"), (3.0, "c")):
        call.cache(seconds, (tag,))

    assert (call.cache_seconds, call.cache_tags) == (1.0, ("a", "b", "c"))


def test_a_tag_is_text():
    """Another type is an error that names it."""
    with pytest.raises(TypeError, match="not int"):
        invalidate(17)


def test_sidecars_share_one_file(tmp_path):
    """A second sidecar maps the same file, and one that is damaged is made again."""
    first, second = Epochs.open(tmp_path), Epochs.open(tmp_path)
    first.replace(["a"])
    assert first.identity == second.identity
    assert first.of(["a"]) == second.of(["a"])

    damaged = b"something else".ljust((tmp_path / FILE).stat().st_size, b"\0")
    for content in (b"", b"short", damaged):
        (tmp_path / FILE).unlink()
        (tmp_path / FILE).write_bytes(content)
        third = Epochs.open(tmp_path)
        assert third.identity != first.identity
        assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
        third.close()
    first.close()
    second.close()
