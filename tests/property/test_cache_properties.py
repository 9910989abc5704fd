"""Whatever is asked, answered, renamed and invalidated in whatever order, the cache keeps its word.

The model is a GitHub of three issues under four paths, whose every answer has a number of its own;
for each answer it knows who got it, when it was asked for, and what was invalidated since.
"""

from datetime import UTC, datetime

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from sidecypher import EncodedRow, Row
from sidecypher_procedures.github.cache import Clock, EntityCache, Entry, MemoryStore
from sidecypher_procedures.github.errors import NotFound

NOW = datetime(2026, 1, 2, tzinfo=UTC)
PATHS = [f"/repos/o/{repo}/issues/{number}" for repo in "ab" for number in (1, 2)]
IDENTITIES = ["one", "two", "three"]


class Answer(Row):
    """The number of an answer."""

    number: int


def row(number):
    """Make the row of an answer."""
    return EncodedRow.of(Answer(number=number))


SIZE = Entry(row(100), None, None, 0.0).size

paths = st.sampled_from(PATHS)
credentials = st.sampled_from("xy")


class Caching(RuleBasedStateMachine):
    """Requests begin and end, and their answers are kept or not."""

    def __init__(self) -> None:
        super().__init__()
        self.time = 0.0
        self.store = MemoryStore(3 * SIZE)
        self.cache = EntityCache(self.store, Clock(lambda: self.time, lambda: NOW))
        self.requests = []
        self.answers = {}
        self.events = 0
        self.dropped = {}

    @rule(credential=credentials, asked=paths)
    def ask(self, credential, asked):
        """A request begins."""
        self.events += 1
        self.requests.append((credential, asked, self.cache.generation, self.events))

    @rule(
        data=st.data(),
        path=st.none() | paths,
        node=st.none() | st.sampled_from(IDENTITIES),
        missing=st.booleans(),
    )
    def answer(self, data, path, node, missing):
        """A request ends: something is there, perhaps elsewhere, or nothing is."""
        if not self.requests:
            return
        request = data.draw(st.sampled_from(self.requests))
        self.requests.remove(request)
        credential, asked, since, began = request
        number = len(self.answers)
        path, node = (None, None) if missing else (path, node)
        entry = Entry(
            row(number),
            NotFound if missing else None,
            None,
            self.time,
            path=path,
            node=node,
        )
        self.answers[number] = (credential, began, path or asked)
        self.cache.put(credential, asked, entry, since)

    @rule(path=paths)
    def invalidate(self, path):
        """One path is invalidated."""
        self.events += 1
        self.cache.invalidate(path)
        self.dropped[path] = self.events

    @rule(repo=st.sampled_from("ab"))
    def invalidate_repository(self, repo):
        """A repository is invalidated, and with it all its paths."""
        self.events += 1
        self.cache.invalidate(f"/repos/o/{repo}", below=True)
        for path in PATHS:
            if path.startswith(f"/repos/o/{repo}/"):
                self.dropped[path] = self.events

    @rule(seconds=st.sampled_from([1.0, 4000.0]))
    def wait(self, seconds):
        """Time passes, perhaps more than a name is believed."""
        self.time += seconds

    @invariant()
    def what_is_given_may_be_given(self):
        """No entry is another credential's, or older than an invalidation of its names."""
        for credential in "xy":
            for path in PATHS:
                entry = self.cache.get(credential, path)
                if entry is None:
                    continue
                owner, began, place = self.answers[entry.row.decode().number]
                assert owner == credential
                assert began > max(self.dropped.get(name, 0) for name in (path, place))

    @invariant()
    def no_more_is_kept_than_has_room(self):
        """The bound holds, and what is known beside the entries goes with them."""
        assert self.store.bytes == sum(
            len(path) + entry.size for (_, path), entry in self.store._entries.items()
        )
        assert self.store.bytes <= 3 * SIZE
        assert all(
            (who, path) in self.store._entries for (who, _), path in self.store._paths.items()
        )


TestCaching = Caching.TestCase
