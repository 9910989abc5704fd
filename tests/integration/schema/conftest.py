"""Folders of scripts, and a graph that has none of their schema."""

import pytest

from sidecypher_schema import clean, own_scripts


def schema(driver):
    """Return kind and name of each constraint and index."""
    constraints, _, _ = driver.execute_query("SHOW CONSTRAINTS YIELD name")
    indexes, _, _ = driver.execute_query(
        "SHOW INDEXES YIELD name, owningConstraint AS owner WHERE owner IS NULL"
    )
    found = [("CONSTRAINT", constraints), ("INDEX", indexes)]
    return {(kind, row["name"]) for kind, rows in found for row in rows}


@pytest.fixture(scope="module")
def before(driver):
    """The schema without that of any test."""
    return schema(driver)


@pytest.fixture
def own(tmp_path, driver, session, before):
    """Write scripts into a folder of the user's; what they make is removed afterwards."""
    written = []

    def write(files, target="own"):
        for path, content in files.items():
            file = tmp_path / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content, encoding="utf-8")
        found = own_scripts(tmp_path, target)
        written.append(found)
        return found

    write.folder = tmp_path
    yield write
    # It takes a dozen statements, which Neo4j plans again after each change of the schema.
    for scripts in [each for each in reversed(written) if each.triggers]:
        clean(driver, scripts)
    for kind, name in schema(driver) - before:
        driver.execute_query(f"DROP {kind} `{name}`")


@pytest.fixture
def names(session):
    """Return the names of all constraints, indexes and triggers of the graph."""

    def names():
        return {
            name
            for query in (
                "SHOW CONSTRAINTS YIELD name RETURN name",
                "SHOW INDEXES YIELD name RETURN name",
                "CALL apoc.trigger.list() YIELD name RETURN name",
            )
            for name in session.run(query).value()
        }

    return names
