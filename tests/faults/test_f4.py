"""F4: a body hangs."""

import time

import pytest


@pytest.mark.parametrize("procedure", ["test.brief", "test.briefAsync"])
def test_a_body_that_never_answers_is_a_clear_error(session, evidence, procedure):
    """A body that outlives its timeout of 0.3 s gives an error within another second."""
    session.run(f"CALL {procedure}(0)").consume()

    begun = time.monotonic()
    error = evidence.error(f"CALL {procedure}(20)")

    assert time.monotonic() - begun < 1.3
    assert "SC-213" in error.message
    assert f"`{procedure}`" in error.message
    assert "raise " in error.message
    assert session.run(f"CALL {procedure}(0)").single()["value"] == "in time"
