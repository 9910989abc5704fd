"""The guides of the namespaces: each statement returns what the page shows below it."""

import json

import pytest
from docs.pages import answered

GUIDES = ["docs/runs.md"]


@pytest.mark.parametrize("page", GUIDES)
def test_a_guide_shows_what_its_statements_return(session, page):
    """Run in their order on an empty graph, statements return the rows of the page."""
    shown = answered(page)

    assert shown
    for statement, answer in shown:
        returned = [record.values() for record in session.run(statement)]
        assert returned == [json.loads(f"[{line}]") for line in answer.splitlines()], statement
