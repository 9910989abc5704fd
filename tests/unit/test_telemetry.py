"""Logs and metrics tell what happened in which call, never what was in it."""

import io
import json

import pytest
import structlog

from sidecypher.errors import (
    ArgumentError,
    CallError,
    ProcedureError,
    ProcedureFailed,
    UnknownProcedure,
)
from sidecypher.telemetry import Telemetry, call_logger, configure_logging, logger

SECRET = "hunter2-payload"


@pytest.fixture
def logs(monkeypatch):
    """Structured logs as the sidecar writes them; calling it gives the lines so far."""
    written = io.StringIO()
    monkeypatch.setattr("sys.stderr", written)
    configure_logging("DEBUG", "json")
    yield lambda: [json.loads(line) for line in written.getvalue().splitlines()]
    structlog.reset_defaults()


@pytest.fixture
def telemetry(logs):
    return Telemetry()


def samples(telemetry, name):
    """Values of one metric by its labels."""
    return {
        tuple(sample.labels.values()): sample.value
        for family in telemetry.metrics.collect()
        for sample in family.samples
        if sample.name == name
    }


def test_pages_and_rows_are_counted_by_procedure(telemetry):
    """Each page adds one call, its rows and its time."""
    telemetry.served("kg.a", "call-1", 16, 0.25)
    telemetry.served("kg.a", "call-1", 3, 0.25)
    telemetry.served("kg.b", "call-1", 0, 0.0)

    assert samples(telemetry, "sidecypher_calls_total") == {("kg.a", "ok"): 2, ("kg.b", "ok"): 1}
    assert samples(telemetry, "sidecypher_rows_total") == {("kg.a",): 19, ("kg.b",): 0}
    assert samples(telemetry, "sidecypher_call_seconds_sum") == {("kg.a",): 0.5, ("kg.b",): 0}


def test_a_failed_call_is_counted_and_logged_by_code(telemetry, logs):
    """A failure has its code in metric and log, and the call's id in the log."""
    telemetry.failed("kg.a", "call-1", ProcedureFailed(SECRET), 0.1)

    [line] = logs()
    assert {
        key: line[key] for key in ("level", "event", "procedure", "call", "code", "seconds")
    } == {
        "level": "warning",
        "event": "call failed",
        "procedure": "kg.a",
        "call": "call-1",
        "code": "SC-202",
        "seconds": 0.1,
    }
    assert samples(telemetry, "sidecypher_calls_total") == {("kg.a", "SC-202"): 1}
    assert SECRET not in str(line)


def test_unknown_names_make_no_series_of_their_own(telemetry, logs):
    """Whatever names are asked for, they are counted under one label and not logged."""
    for index in range(50):
        telemetry.refused(f"made.up{index}", UnknownProcedure(f"no `made.up{index}`"))
    telemetry.refused("kg.a", ArgumentError(SECRET))

    assert samples(telemetry, "sidecypher_calls_total") == {
        ("unknown", "SC-203"): 50,
        ("kg.a", "SC-204"): 1,
    }
    assert "made.up" not in str(logs())


def test_codes_of_authors_make_no_series_of_their_own(telemetry):
    """However many codes authors invent, they are counted as one."""
    for index in range(50):
        telemetry.failed("kg.a", "c", ProcedureError("", code=f"kg.code-{index}"), 0.0)

    assert samples(telemetry, "sidecypher_calls_total") == {("kg.a", "SC-201"): 50}


def test_an_unexpected_exception_is_logged_by_type_and_place(telemetry, logs):
    """The log has the exception's type and frames; its text and the line's source stay out."""

    def body(secret):
        raise ValueError(secret)

    try:
        body(SECRET)
    except ValueError as error:
        telemetry.unexpected("kg.a", "call-1", error)

    [line] = logs()
    assert (line["level"], line["type"], line["call"]) == ("error", "ValueError", "call-1")
    assert line["frames"][-1].startswith("test_telemetry.py:")
    assert line["frames"][-1].endswith(" body")
    assert SECRET not in str(line)


def test_a_very_deep_exception_is_logged_by_its_last_frames(telemetry, logs):
    """A recursion does not fill the log."""

    def body(depth):
        if depth:
            body(depth - 1)
        raise ValueError

    try:
        body(200)
    except ValueError as error:
        telemetry.unexpected("kg.a", "call-1", error)

    assert len(logs()[0]["frames"]) == 12


def test_a_body_logs_under_its_call(logs):
    """What a body logs has the call's id and procedure on the same line."""
    call_logger("call-1", "kg.a").info("asked", page=2)

    [line] = logs()
    assert (line["call"], line["procedure"], line["event"], line["page"]) == (
        "call-1", "kg.a", "asked", 2,
    )  # fmt: skip
    assert line["timestamp"].endswith("Z")


def test_lines_below_the_level_are_left_out(capsys):
    """Only lines of the configured level and above are written, and only to standard error."""
    configure_logging("WARNING", "json")
    log = logger()
    for level in ("debug", "info", "warning", "error"):
        getattr(log, level)(level)
    structlog.reset_defaults()

    shown = capsys.readouterr()
    assert [json.loads(line)["event"] for line in shown.err.splitlines()] == ["warning", "error"]
    assert shown.out == ""


def test_the_console_format_is_for_people(capsys):
    """The console format is no JSON, and without a terminal it has no colours."""
    configure_logging("INFO", "console")
    logger().info("sidecar ready", port=5)
    structlog.reset_defaults()

    line = capsys.readouterr().err
    assert "sidecar ready" in line
    assert "port=5" in line
    assert "\x1b" not in line


def test_two_sidecars_in_one_process_count_apart():
    """Each `Telemetry` has metrics of its own."""
    first, second = Telemetry(), Telemetry()
    first.served("kg.a", "call-1", 1, 0.0)

    assert samples(second, "sidecypher_calls_total") == {}


def test_an_error_without_own_code_is_counted_by_its_class(telemetry):
    """A code such as SC-207 is its own label."""
    telemetry.refused("kg.a", CallError("", code="SC-207"))

    assert samples(telemetry, "sidecypher_calls_total") == {("kg.a", "SC-207"): 1}
