"""The examples of docs/examples.md on a real Neo4j, file by file as a reader would run them."""

import json

import pytest
from docs.pages import ROOT, blocks, section
from fix_server import EXAMPLES
from neo4j.exceptions import ClientError

from sidecypher_schema import clean, migrate, own_scripts

SHOWN = section("README.md", "What ships with it")
WRONG = (EXAMPLES / "queries" / "pay.cypher").read_text()
RIGHT = WRONG.replace("DE98", "DE89")


def run(session, name, **parameters):
    return session.run((EXAMPLES / "queries" / name).read_text(), parameters).data()


def payments(session):
    return session.run("MATCH (p:Payment) RETURN count(*)").single().value()


# The queries of README


def test_the_queries_of_the_readme_answer_on_an_empty_graph(session):
    """Each query below "What ships with it" returns the row that is shown below it."""
    found = [
        block
        for block in blocks("cypher", "text", pages=[ROOT / "README.md"])
        if block.text in f"{SHOWN}\n"
    ]
    shown = [json.loads(f"[{block.text}]") for block in found[1::2]]

    assert [session.run(block.text).values() for block in found[::2]] == [[row] for row in shown]


# The stalest issues


def test_the_stalest_issues_come_first(session, world):
    """Open issues by their working days, at most five; closed and unknown ones are left out."""
    world.repository()
    for number, month in enumerate((3, 1, 6, 2, 5, 4, 7), start=1):
        world.issue(
            number,
            title=f"Issue of month {month}",
            state="closed" if month == 2 else "open",
            updated_at=f"2025-{month:02}-03T10:00:00Z",
            comments=month,
        )
    session.run(
        "CREATE (r:Repository {id: 'stalest', owner: 'ann', name: $name}) "
        "FOREACH (number IN range(1, 9) | "
        "CREATE (:Issue {id: 'stalest' + number, number: number})-[:BELONGS_TO]->(r))",
        name=world.name,
    ).consume()

    rows = run(session, "stalest-issues.cypher")

    assert [row["title"] for row in rows] == [f"Issue of month {m}" for m in (1, 3, 4, 5, 6)]
    assert [row["number"] for row in rows] == [2, 1, 6, 5, 3]
    assert {row["repository"] for row in rows} == {world.name}
    assert [row["idleDays"] for row in rows] == sorted((r["idleDays"] for r in rows), reverse=True)
    assert all(row["idleDays"] > 100 for row in rows)


# A guard in Python


@pytest.fixture
def guarded(driver, session):
    """A session on a graph that the guard watches."""
    scripts = own_scripts(EXAMPLES / "payments")
    migrate(driver, scripts, wait=30)
    yield session
    clean(driver, scripts, wait=30)


def test_a_wrong_account_number_is_refused_in_plain_words(guarded):
    """A plain CREATE is rolled back, with the text of the Python function."""
    with pytest.raises(ClientError) as refused:
        guarded.run(WRONG).consume()

    assert "[payments.iban] A payment's IBAN `DE98...` is none" in refused.value.message
    assert payments(guarded) == 0


def test_a_right_account_number_is_written(guarded):
    """What is right is written, and what concerns no payment is not looked at."""
    guarded.run(RIGHT).consume()
    guarded.run("CREATE (:Invoice {iban: 'none'})").consume()

    assert payments(guarded) == 1


@pytest.mark.parametrize(
    "change",
    [
        "SET p.iban = 'DE98370400440532013000'",
        "REMOVE p.iban",
        "SET p = {amount: 3}",
        "CREATE (:Payment {amount: 3})",
        "CREATE (n:Invoice {iban: 'x'}) SET n:Payment",
        "DELETE p CREATE (:Payment {iban: 'x'})",
    ],
)
def test_every_way_to_a_wrong_account_number_is_guarded(guarded, change):
    """A change, a removal and a late label meet the guard too."""
    guarded.run(RIGHT).consume()
    with pytest.raises(ClientError, match=r"\[payments\.iban\]"):
        guarded.run(f"MATCH (p:Payment) {change}").consume()

    assert payments(guarded) == 1


def test_a_payment_may_be_deleted(guarded):
    """What is deleted in a transaction has no number any more that could be wrong."""
    guarded.run(RIGHT).consume()
    guarded.run("MATCH (p:Payment) SET p.iban = 'x' DELETE p").consume()
    guarded.run(f"{WRONG} WITH 1 AS one MATCH (p:Payment) DELETE p").consume()

    assert payments(guarded) == 0


@pytest.mark.slow
def test_without_a_sidecar_only_payments_are_refused(guarded, server):
    """A guard that cannot be asked lets nothing of its own pass, and all the rest."""
    with server.sidecar_down():
        with pytest.raises(ClientError, match="SC-210"):
            guarded.run(RIGHT).consume()
        guarded.run("CREATE (:Invoice)").consume()

    assert payments(guarded) == 0


# PageRank of a subgraph


def test_pages_are_ranked_in_a_worker_process(session):
    """The page that most others link to comes first; those outside of the subgraph do not count."""
    session.run(
        "CREATE (home:Page {title: 'home'}), (docs:Page {title: 'docs'}), "
        "(blog:Page {title: 'blog'}), (old:Draft {title: 'old'}), (old)-[:LINKS_TO]->(blog), "
        "(blog)-[:LINKS_TO]->(docs), (blog)-[:LINKS_TO]->(home), "
        "(home)-[:LINKS_TO]->(docs), (docs)-[:LINKS_TO]->(home), (docs)-[:LINKS_TO]->(docs)"
    ).consume()

    rows = run(session, "page-rank.cypher")

    assert [row["title"] for row in rows] == ["docs", "home", "blog"]
    assert sum(row["score"] for row in rows) == pytest.approx(1, abs=0.01)


def test_a_large_graph_is_ranked_whole(session):
    """Ten thousand links come back as one row for each page."""
    found = session.run(
        "UNWIND range(0, 9999) AS n "
        "WITH collect([toString(n), toString(n * 7919 % 1000)]) AS links "
        "CALL ranking.pageRank(links) YIELD nodeId, score "
        "RETURN count(*) AS pages, sum(score) AS total"
    ).single()

    assert found["pages"] == 10_000
    assert found["total"] == pytest.approx(1)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [("[], 1.5", "ranking.damping"), ("[['a']]", "ranking.link"), ("[['a', null]]", "SC-204")],
)
def test_what_cannot_be_ranked_is_refused(session, arguments, code):
    """Arguments that make no sense are an error with a code."""
    with pytest.raises(ClientError, match=rf"\[{code}\]"):
        session.run(f"CALL ranking.pageRank({arguments})").consume()


def test_an_empty_graph_has_no_rows(session):
    """Nothing to rank is nothing."""
    assert run(session, "page-rank.cypher") == []
