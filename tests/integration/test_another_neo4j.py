"""Commands on a Neo4j that `NEO4J_*` variables name, and in a database that an option names."""

import pytest

COMMANDS = [
    ("call", "test.echo", "there"),
    ("cypher", "RETURN 1 AS one"),
    ("migrate", "info"),
    ("runs", "show", "no-such-run"),
    ("session", "inbox"),
    ("code", "stats", "no-such-repository"),
    ("sync", "watched"),
]


@pytest.fixture
def elsewhere(server, tmp_path):
    """Run a command in an empty home, where only `NEO4J_*` variables name a Neo4j."""

    def run(*arguments, **variables):
        named = {
            "NEO4J_URI": server.facts["bolt"],
            "NEO4J_USERNAME": "neo4j",
            "NEO4J_PASSWORD": server.password,
            "SIDECYPHER_HOME": str(tmp_path),
        }
        return server.command(*arguments, **named | variables)

    return run


def test_a_command_connects_to_what_neo4js_variables_name(elsewhere):
    """With them alone a call is answered, in the database that they name."""
    done = elsewhere("cypher", "CALL db.info() YIELD name", "--format", "csv")
    named = elsewhere("cypher", "CALL db.info() YIELD name", NEO4J_DATABASE="system")

    assert (done.stdout, done.stderr) == ("name\nneo4j\n", "")
    assert "system" in named.stdout


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_uses_the_database_of_its_option(elsewhere, command):
    """A database that is not there is named by the error, whatever the variables say."""
    done = elsewhere(*command, "--database", "no-such-one", NEO4J_DATABASE="neo4j")

    assert done.returncode == 1
    assert "no-such-one" in done.stderr
    assert "Traceback" not in done.stderr


def test_doctor_names_a_database_that_is_not_there(elsewhere):
    """The check of Neo4j's version has the server's own words."""
    done = elsewhere("doctor", "--database", "no-such-one")

    assert done.returncode == 1
    assert "no-such-one" in done.stdout


def test_another_neo4j_than_that_of_the_home_is_announced(server):
    """While the embedded one runs, a command on another one prints a line about it."""
    done = server.command(
        *("cypher", "RETURN 1 AS one", "--format", "csv"),
        NEO4J_URI=server.facts["bolt"],
        NEO4J_PASSWORD=server.password,
    )

    assert done.stdout == "one\n1\n"
    assert "not the one of this home" in done.stderr
