"""F52: transactions that merge repositories with people in common."""

import json

import pytest

CALL = "CALL github.receiveWebhook($id, 'issues', $payload)"


@pytest.fixture
def merge(session):
    """Merge an issue of a repository by what a webhook tells, in a transaction."""
    ids = iter(range(1000))

    def run(transaction, repository, author):
        number = next(ids)
        time = f"2026-01-01T00:00:{number:02}Z"
        home = {"id": repository, "name": f"r{repository}", "owner": {"id": 1, "login": "owner"}}
        home |= {"full_name": f"owner/r{repository}", "created_at": time, "updated_at": time}
        issue = {"id": number + 1, "number": number + 1, "title": "A", "state": "open"}
        issue |= {"user": {"id": author, "login": f"u{author}"}, "updated_at": time}
        issue |= {"created_at": time}
        payload = json.dumps({"action": "opened", "repository": home, "issue": issue})
        transaction.run(CALL, id=f"common-{number}", payload=payload).consume()

    for repository, author in [(10, 2), (20, 3)]:
        run(session, repository, author)
    return run


def test_people_in_common_let_nobody_wait(driver, session, merge):
    """Two open transactions merge issues of the same two authors, in other order, and owner."""
    with (
        driver.session() as one,
        driver.session() as other,
        one.begin_transaction(timeout=10) as first,
        other.begin_transaction(timeout=10) as second,
    ):
        merge(first, 10, 2)
        merge(second, 20, 3)
        merge(first, 10, 3)
        merge(second, 20, 2)
        second.commit()
        first.commit()

    found = session.run(
        "MATCH (u:User) OPTIONAL MATCH (i:Issue)-[:CREATED_BY]->(u) "
        "RETURN u.id AS id, count(i) AS issues ORDER BY id"
    ).values()
    assert found == [["1", 0], ["2", 3], ["3", 3]]
