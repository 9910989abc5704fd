"""F10: a request or an answer is larger than a message may be."""

import pytest

LIMIT = 16 * 1024 * 1024


def test_a_request_above_the_limit_is_refused_before_it_is_sent(session, evidence):
    """An argument that makes a request too large is SC-216 with the limit, and nothing is sent."""
    error = evidence.error("CALL test.echo($value)", value=evidence.payload + "x" * LIMIT)

    assert "SC-216" in error.message
    assert f"limit of {LIMIT} bytes" in error.message
    assert "`test.echo`" in error.message


def test_an_answer_above_the_limit_is_refused_where_it_is_made(session, evidence):
    """A row that makes an answer too large is SC-216 with its size and the limit."""
    error = evidence.error("CALL trouble.big($length)", length=LIMIT)

    assert "SC-216" in error.message
    assert f"{LIMIT} are allowed" in error.message
    assert "`trouble.big`" in error.message
    evidence.logged("call failed", procedure="trouble.big", code="SC-216")
    evidence.counted("sidecypher_calls_total", procedure="trouble.big", outcome="SC-216")


def test_a_record_above_the_limit_fails_the_call_alone(evidence):
    """A record of `ctx.run` that no message can hold is SC-216 with the limit."""
    error = evidence.error(
        "CALL test.run('RETURN [n IN range(1, 5) | $text] AS five', {text: $text})",
        text="x" * (LIMIT // 4),
    )

    assert "SC-216" in error.message
    assert f"limit of {LIMIT} bytes" in error.message
    evidence.logged("call failed", procedure="test.run")


def test_refused_messages_leave_no_memory_behind(server, session, evidence):
    """After many refusals the sidecar has the memory it had after the first few."""

    def refuse(times):
        for _ in range(times):
            evidence.error("CALL trouble.big($length)", length=LIMIT)
        return server.process("sidecar").memory_info().rss

    before = refuse(4)

    assert refuse(12) - before < 32 * 1024 * 1024


@pytest.mark.parametrize("length", [0, 1, 1 << 20, LIMIT - 4096])
def test_what_is_not_above_the_limit_crosses(session, evidence, length):
    """Messages up to the limit pass, both ways."""
    session.run("CALL trouble.big($length)", length=length).consume()
    found = session.run("CALL trouble.length($value)", value="x" * length).single()["value"]

    assert found == length
