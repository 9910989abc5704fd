"""The guides of the namespaces: each statement returns what the page shows below it."""

import pytest
from docs.pages import answered

GUIDES = ["docs/runs.md"]


@pytest.mark.slow
@pytest.mark.parametrize("page", GUIDES)
def test_a_guide_shows_what_its_statements_return(session, page):
    """Run in their order on an empty graph, statements return the rows of the page."""
    shown = answered(page)

    assert shown
    for statement, rows in shown:
        assert session.run(statement).values() == rows, statement
