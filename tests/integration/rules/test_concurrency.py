"""Many writers of one scope at once, and writers that go away half-way."""

from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice

import pytest
from fix_waiting import wait_until
from neo4j.exceptions import ClientError, DatabaseError, TransientError

WRITERS = 32


@pytest.mark.slow
def test_parallel_writers_of_opposite_rules_leave_one_active(driver, new_user, round_count):
    """One rule is active, the contradiction is recorded, and no assertion is lost."""
    with ThreadPoolExecutor(WRITERS) as pool:
        for _ in range(round_count):
            user = new_user()
            texts = islice(cycle(["formal tone", "casual tone"]), WRITERS)

            list(pool.map(lambda text, user=user: _write(driver, user.user, text), texts))

            assert sorted(status for status, _ in user.standings(now=1e9).values()) == [
                "active",
                "contested",
            ]
            assert len(user.edges()) == 1
            [asserted] = user.session.run(
                "MATCH (:User {id: $user})-[p:PREFERS]->() RETURN count(p) AS n", user=user.user
            ).value()
            assert asserted == WRITERS
            # What a thousand rounds leave is too much for one transaction of 512 MB.
            user.session.run("MATCH (n) DETACH DELETE n").consume()


def test_writers_of_one_scope_wait_for_each_other_without_deadlocks(driver, rules):
    """Each gets its turn, and records a later instant than the one before it."""
    with ThreadPoolExecutor(8) as pool:
        writing = [
            pool.submit(_write_once, driver, rules.user, ["formal tone", "casual tone"][number % 2])
            for number in range(100)
        ]
        failed = [str(each.exception()) for each in writing if each.exception()]

    assert failed == []
    recorded = rules.session.run(
        "MATCH (:User {id: $user})-[p:PREFERS]->(:StyleRule) RETURN p.recordedAt", user=rules.user
    ).value()
    [(rev, last)] = rules.session.run(
        "MATCH (s:RuleScope {user: $user}) RETURN s.rev, s.recordedAt", user=rules.user
    ).values()
    assert len(set(recorded)) == 100
    assert (rev, last) == (100, max(recorded))


def _write_once(driver, user, text):
    with driver.session() as session:
        session.run(
            "CALL rules.add($rule, {method: 'rule'})", rule={"userId": user, "text": text}
        ).consume()


def _write(driver, user, text):
    """Write as an application does: a managed transaction, that tries again after a deadlock."""
    with driver.session() as session:
        session.execute_write(
            lambda tx: tx.run(
                "CALL rules.add($rule, {method: 'rule'})", rule={"userId": user, "text": text}
            ).consume()
        )


def test_what_a_rolled_back_writer_wrote_was_never_there(rules, driver):
    """Its rule, its provenance and its lock go with its transaction."""
    with driver.session() as session, session.begin_transaction() as transaction:
        transaction.run(
            "CALL rules.add($rule, {method: 'rule'})", rule={"userId": rules.user, "text": "x"}
        ).consume()
        transaction.rollback()

    assert rules.session.run("MATCH (n) RETURN count(n) AS n").single()["n"] == 0


@pytest.mark.slow
def test_a_sidecar_that_dies_between_statements_leaves_nothing(rules, server, driver):
    """The writer's transaction fails, and what its earlier statements wrote is not there."""
    with driver.session() as other, other.begin_transaction() as holder:
        # The rule waits until it is known whether its id is taken; its extraction is written then.
        holder.run("CREATE (:StyleRule {ruleId: 'r1'})").consume()
        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(rules.add, "formal tone", id="r1")
            wait_until(lambda: _creates_the_rule(driver))
            server.kill_sidecar()
            holder.rollback()
            with pytest.raises((ClientError, DatabaseError, TransientError), match=r"SC-2\d\d"):
                writing.result()
    server.await_sidecar()

    assert rules.session.run("MATCH (n) RETURN count(n) AS n").single()["n"] == 0


def _creates_the_rule(driver):
    """Tell whether some transaction is at the statement that creates the rule's node."""
    found = driver.execute_query("SHOW TRANSACTIONS YIELD currentQuery AS query").records
    # Before it is run for the first time it is planned, with EXPLAIN in front.
    queries = [row["query"].strip() for row in found if "CREATE (r:StyleRule)" in row["query"]]
    return any(not query.startswith("EXPLAIN") for query in queries)
