"""Names and ids of the shipped procedures, as errors show them."""

import pytest

from sidecypher_procedures.names import shown_id


@pytest.mark.parametrize(
    ("identifier", "shown"),
    [
        ("r1", "r1"),
        ("x" * 100, "x" * 100),
        ("x" * 101, "..."),
        ("a\nb", "..."),
        ("\x1b[31m", "..."),
        ("\u202egnp", "..."),
    ],
)
def test_an_error_shows_an_id_that_can_be_printed(identifier, shown):
    """A long id, and one with a line end or a control character, is left out."""
    assert shown_id(identifier) == shown
