"""One user of a test's own, and instants in seconds after an origin."""

import itertools
from datetime import UTC, datetime, timedelta

import pytest
from fix_calls import Calls

ORIGIN = datetime(2026, 1, 1, tzinfo=UTC)
_numbers = itertools.count()


def at(seconds):
    return ORIGIN + timedelta(seconds=seconds)


class Rules(Calls):
    """The `rules` procedures for one user."""

    def __init__(self, session, user):
        super().__init__(session, "rules")
        self.user = user

    def add(self, text, since=None, *, user=None, **rule):
        """State a rule; return the only row."""
        rule = {"userId": user or self.user, "text": text, **rule}
        if since is not None:
            rule["since"] = at(since)
        [row] = self.call("add", rule, {"method": "rule", "rawSnippet": text})
        return row

    def add_plainly(self, text, since, *, confirmed=False, **rule):
        """State a rule by plain Cypher, as somebody does who knows nothing of the procedures."""
        marker = rule.pop("temporalMarker", "current")
        properties = {"user": self.user, "scope": "global", "scopeId": "", "text": text, **rule}
        self.session.run(
            """
            MERGE (u:User {id: $rule.user})
            CREATE (e:Extraction {
                extractionId: randomUUID(), createdAt: datetime(), method: 'rule'
            })
            CREATE (e)-[:CREATED]->(r:StyleRule)<-[p:PREFERS]-(u)
            SET r = $rule, p.extractionId = e.extractionId, p.scope = r.scope,
                p.since = $since, p.temporalMarker = $marker, p.confirmed = $confirmed
            """,
            rule=properties,
            since=at(since),
            marker=marker,
            confirmed=confirmed,
        ).consume()

    def active(self, scope="global", scope_id="", *, now=9, **options):
        return self.call("active", self.user, scope, scope_id, {"now": at(now), **options})

    def standings(self, *arguments, **options):
        """Tell status and reason of each visible rule by its text."""
        rows = self.active(*arguments, **options)
        return {row["text"]: (row["status"], row["reason"]) for row in rows}

    def edges(self):
        """Tell the recorded contradictions of the user as pairs of texts."""
        found = self.session.run(
            "MATCH (a:StyleRule {user: $user})-[c:CONTRADICTS]->(b:StyleRule) "
            "RETURN a.text AS later, b.text AS earlier",
            user=self.user,
        )
        return sorted((row["later"], row["earlier"]) for row in found)


@pytest.fixture
def new_user(session):
    """Make users of which nothing is known."""
    return lambda: Rules(session, f"user-{next(_numbers)}")


@pytest.fixture
def rules(new_user):
    return new_user()
