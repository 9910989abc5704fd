"""Tracing a program, and what the graph and the terminal then say."""

import subprocess
import sys

import pytest

SHOP = {
    "main_py": """
        import sys

        from prices import price_of, unused


        def buy(day):
            return price_of(day)


        if len(sys.argv) > 5:
            unused()
        buy("Monday")
        sys.exit(len(sys.argv) - 1)
    """,
    "prices_py": """
        def price_of(day):
            return globals()["half_price"](day)


        def half_price(day):
            return 1


        def unused():
            return half_price("Sunday")
    """,
}
CONFIRMED = """
    MATCH (e:Entity {repo_id: $id})-[r:CALLS {trace_confirmed: true}]->(t)
    RETURN e.qualified_name AS caller, t.qualified_name AS callee ORDER BY caller, callee
"""


@pytest.fixture
def trace(server):
    """Run the command in the folder of a repository."""

    def run(folder, *arguments):
        return subprocess.run(
            [sys.executable, "-m", "sidecypher_procedures.code.trace", *map(str, arguments)],
            cwd=folder,
            env=server.environ,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.fixture
def shop(repository):
    made = repository(**SHOP)
    made.index()
    return made


def confirmed(session, repository):
    return [(row["caller"], row["callee"]) for row in session.run(CONFIRMED, id=repository.id)]


@pytest.mark.slow
def test_calls_that_happen_are_marked(shop, session, trace):
    """A traced program marks its calls, and what it prints and its exit status are kept."""
    done = trace(shop.folder, "--", "main.py", "a", "b")

    traced = [row for row in shop.call("stats") if row["kind"] == "traced"]
    assert (done.returncode, done.stderr) == (2, "")
    assert confirmed(session, shop) == [("main", "main.buy"), ("main.buy", "prices.price_of")]
    assert sum(row["count"] for row in traced) == 2


@pytest.mark.slow
def test_recall_and_missing_calls_are_printed(shop, trace):
    """The tables have the share of recorded calls, and each that is missing with its place."""
    done = trace(shop.folder, "main.py")

    lines = [[cell.strip() for cell in line.split("│")[1:-1]] for line in done.stdout.splitlines()]
    assert ["calls", "3", "2", "66.7%"] in lines
    assert "prices.py:3: prices.price_of calls prices.half_price" in done.stdout


@pytest.mark.slow
def test_a_mark_stays_as_long_as_the_call(shop, session, trace):
    """Indexing again writes nothing for a mark; it stays where a call moves, and goes with it."""
    trace(shop.folder, "main.py")
    again = shop.index()
    shop.write(
        main_py="\n" + SHOP["main_py"],
        prices_py=SHOP["prices_py"].replace("price_of", "cost_of"),
    )
    shop.index()

    assert (again["written"], again["removed"]) == (0, 0)
    assert confirmed(session, shop) == [("main", "main.buy")]


@pytest.mark.slow
def test_tracing_again_changes_nothing(shop, session, trace):
    """A second trace of the same program finds the same, and writes nothing."""
    first = trace(shop.folder, "main.py")
    before = confirmed(session, shop)

    second = trace(shop.folder, "main.py")

    assert (second.stdout, confirmed(session, shop)) == (first.stdout, before)


@pytest.mark.slow
def test_a_test_run_is_traced(repository, session, trace):
    """pytest is run by its name, and calls of tests are marked, also those that fail."""
    shop = repository(
        **SHOP,
        test_prices_py="""
            from prices import price_of, unused

            def test_unused():
                assert unused() == 1

            def test_price():
                assert price_of("Monday") == 2
        """,
    )
    shop.index()

    done = trace(shop.folder, "--", "pytest", "-q", "-p", "no:cacheprovider")

    assert done.returncode == 1
    assert "1 failed, 1 passed" in done.stdout
    assert confirmed(session, shop) == [
        ("prices.unused", "prices.half_price"),
        ("test_prices.test_price", "prices.price_of"),
        ("test_prices.test_unused", "prices.unused"),
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--repo", "none", "main.py"], "SC-971"),
        (["--root", "/etc", "--repo", "{id}", "main.py"], "SC-987"),
        (["none.py"], "SC-986"),
        (["other.py"], "SC-987"),
    ],
)
def test_what_cannot_be_traced_is_an_error(shop, trace, arguments, code):
    """A wrong repository, root or program is an error with its code, without a traceback."""
    (shop.folder / "other.py").write_text("print('ran')")

    done = trace(shop.folder, *(each.format(id=shop.id) for each in arguments))

    assert done.returncode == 1
    assert f"[{code}]" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_missing_program_is_a_usage_error(shop, trace):
    """Without a program, the command says so and how it is used."""
    done = trace(shop.folder, "--repo", shop.id)

    assert done.returncode == 2
    assert "Missing argument" in done.stderr


@pytest.mark.slow
def test_a_repository_that_is_being_written_is_refused(shop, session, trace):
    """While an indexing writes the repository nothing is run: figures would be wrong."""
    session.run("MATCH (r:Repo {repo_id: $id}) SET r.status = 'writing'", id=shop.id)

    done = trace(shop.folder, "main.py")

    assert (done.returncode, done.stdout) == (1, "")
    assert "[SC-993]" in done.stderr
