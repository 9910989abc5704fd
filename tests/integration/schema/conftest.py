"""Folders of scripts, and a graph that has none of their schema."""

import pytest

from sidecypher_schema import clean, own_scripts


@pytest.fixture
def own(tmp_path, driver, session):
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
    for scripts in reversed(written):
        clean(driver, scripts)


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
