"""Logs and metrics tell what happened in which call, never what was in it."""

import io
import json
import math

import pytest

from sidecypher.errors import (
    ArgumentError,
    CallError,
    ProcedureError,
    ProcedureFailed,
    UnknownProcedure,
)
from sidecypher.sdk.call import Call
from sidecypher.telemetry.calls import Telemetry, call_logger, configure_logging, logger

SECRET = "hunter2-payload"


@pytest.fixture
def logs(capsys):
    """Structured logs as the sidecar writes them; calling it gives the lines so far."""
    lines = []

    def read():
        lines.extend(map(json.loads, capsys.readouterr().err.splitlines()))
        return lines

    configure_logging("DEBUG", "json")
    return read


@pytest.fixture
def telemetry(logs):
    return Telemetry()


@pytest.fixture
def observe(telemetry):
    """Begin a call of a procedure."""
    return lambda name: telemetry.call(Call("call-1", name, "people", "ann"), "procedure")


def samples(telemetry, name):
    """Values of one metric by its labels."""
    return {
        tuple(sample.labels.values()): sample.value
        for family in telemetry.metrics.collect()
        for sample in family.samples
        if sample.name == name
    }


def test_calls_pages_rows_and_bytes_are_counted_by_procedure(observe, telemetry):
    """Each page adds its rows, bytes and time; a call is counted once, with its last page."""
    stream, single = observe("kg.a"), observe("kg.b")
    stream.page(16, 0.25, 100, 1000, last=False)

    assert samples(telemetry, "sidecypher_calls_total") == {}

    stream.page(3, 0.25, 10, 200, last=True)
    single.page(0, 0.0, 5, 6, last=True)

    assert samples(telemetry, "sidecypher_calls_total") == {("kg.a", "ok"): 1, ("kg.b", "ok"): 1}
    assert samples(telemetry, "sidecypher_pages_total") == {("kg.a",): 2, ("kg.b",): 1}
    assert samples(telemetry, "sidecypher_rows_total") == {("kg.a",): 19, ("kg.b",): 0}
    assert samples(telemetry, "sidecypher_received_bytes_total") == {("kg.a",): 110, ("kg.b",): 5}
    assert samples(telemetry, "sidecypher_sent_bytes_total") == {("kg.a",): 1200, ("kg.b",): 6}
    assert samples(telemetry, "sidecypher_call_seconds_sum") == {("kg.a",): 0.5, ("kg.b",): 0}
    assert samples(telemetry, "sidecypher_call_seconds_count") == {("kg.a",): 1, ("kg.b",): 1}


def test_a_duration_is_counted_in_every_bucket_above_it(observe, telemetry):
    """Buckets are cumulative, and a duration of just their bound is inside."""
    for seconds in (0.0, 0.005, 0.0051, 100.0):
        observe("kg.a").page(0, seconds, 0, 0, last=True)

    buckets = samples(telemetry, "sidecypher_call_seconds_bucket")
    assert {bound: value for (_, bound), value in buckets.items()} == {
        "0.0005": 1, "0.001": 1, "0.005": 2, "0.01": 3, "0.05": 3, "0.1": 3,
        "0.5": 3, "1.0": 3, "5.0": 3, "30.0": 3, "+Inf": 4,
    }  # fmt: skip


def test_waiting_is_counted_where_something_waited(observe, telemetry):
    """Only procedures whose calls have waited have a histogram of that."""
    observe("kg.a").queued(0.25)
    observe("kg.b").page(0, 0.0, 0, 0, last=True)

    assert samples(telemetry, "sidecypher_queue_seconds_sum") == {("kg.a",): 0.25}


def test_a_caller_that_has_rows_enough_is_no_failure(observe, telemetry, logs):
    """A stream that its caller closes has an outcome of its own, and no warning."""
    stream = observe("kg.a")
    stream.page(16, 0.25, 1, 1, last=False)
    stream.closed()

    assert samples(telemetry, "sidecypher_calls_total") == {("kg.a", "closed"): 1}
    assert [(line["level"], line["event"], line["rows"]) for line in logs()] == [
        ("debug", "call closed", 16)
    ]


def test_a_call_is_over_once(observe, telemetry, logs):
    """Whoever else ends a call that is over changes nothing."""
    call = observe("kg.a")
    call.page(1, 0.0, 1, 1, last=True)
    call.failed(ProcedureFailed("late"), 1.0)
    call.closed()

    assert samples(telemetry, "sidecypher_calls_total") == {("kg.a", "ok"): 1}
    assert len(logs()) == 1


def test_a_call_that_went_well_is_logged_with_its_facts(observe, logs):
    """At DEBUG a line names the call, who called, and how much it gave in what time."""
    observe("kg.a").page(3, 0.25, 1, 1, last=True)

    [line] = logs()
    assert line.pop("timestamp")
    assert line == {
        "level": "debug", "event": "call served", "procedure": "kg.a", "call": "call-1",
        "user": "ann", "database": "people", "rows": 3, "seconds": 0.25,
    }  # fmt: skip


def test_a_failed_call_is_counted_and_logged_by_code(observe, telemetry, logs):
    """A failure has its code in metric and log, and the call's id in the log."""
    observe("kg.a").failed(ProcedureFailed(SECRET), 0.1)

    [line] = logs()
    assert line.pop("timestamp")
    assert line == {
        "level": "warning", "event": "call failed", "procedure": "kg.a", "call": "call-1",
        "user": "ann", "database": "people", "rows": 0, "seconds": 0.1, "code": "SC-202",
    }  # fmt: skip
    assert samples(telemetry, "sidecypher_calls_total") == {("kg.a", "SC-202"): 1}


def test_unknown_names_make_no_series_of_their_own(telemetry, logs):
    """Whatever names are asked for, they are counted under one label and not logged."""
    for index in range(50):
        named = f"made.up{index}"
        telemetry.refused(Call("call-1", named, "", ""), UnknownProcedure(f"no `{named}`"))
    telemetry.refused(Call("call-2", "kg.a", "", ""), ArgumentError(SECRET))

    assert samples(telemetry, "sidecypher_calls_total") == {
        ("unknown", "SC-203"): 50,
        ("kg.a", "SC-204"): 1,
    }
    assert "made.up" not in str([logs(), telemetry.failed_calls.latest()])


@pytest.mark.parametrize("code", ["kg.code-{}", "SC-{}", "SC-201.{}", "", "SC-201\n"])
def test_codes_of_authors_make_no_series_of_their_own(observe, telemetry, code):
    """However many codes authors invent, they are counted as one."""
    for index in range(50):
        observe("kg.a").failed(ProcedureError("", code=code.format(index)))

    assert samples(telemetry, "sidecypher_calls_total") == {("kg.a", "SC-201"): 50}


def test_a_code_that_is_no_text_is_counted_too(observe, telemetry):
    """An author may give a number as a code: the call fails with it, not with another error."""
    observe("kg.a").failed(ProcedureError("", code=5))

    assert samples(telemetry, "sidecypher_calls_total") == {("kg.a", "SC-201"): 1}
    assert [each.code for each in telemetry.failed_calls.latest()] == ["5"]


def test_an_unexpected_exception_is_logged_by_type_and_place(observe, logs):
    """The log has the exception's type and frames; its text and the line's source stay out."""

    def body(secret):
        raise ValueError(secret)

    try:
        body(SECRET)
    except ValueError as error:
        observe("kg.a").unexpected(error)

    [line] = logs()
    assert (line["level"], line["type"], line["call"]) == ("error", "ValueError", "call-1")
    assert line["frames"][-1].startswith("test_telemetry.py:")
    assert line["frames"][-1].endswith(" body")
    assert SECRET not in str(line)


def test_a_very_deep_exception_is_logged_by_its_last_frames(observe, logs):
    """A recursion does not fill the log."""

    def body(depth):
        if depth:
            body(depth - 1)
        raise ValueError

    try:
        body(200)
    except ValueError as error:
        observe("kg.a").unexpected(error)

    assert len(logs()[0]["frames"]) == 12


def test_a_body_logs_under_its_call(logs):
    """What a body logs has the call's id and procedure on the same line."""
    call_logger("call-1", "kg.a").info("asked", page=2)

    [line] = logs()
    assert (line["call"], line["procedure"], line["event"], line["page"]) == (
        "call-1", "kg.a", "asked", 2,
    )  # fmt: skip
    assert line["timestamp"].endswith("Z")


def test_lines_go_to_the_standard_error_of_now(monkeypatch):
    """A test runner closes one `sys.stderr` and opens the next: lines follow, and none raises."""
    closed, current = io.StringIO(), io.StringIO()
    monkeypatch.setattr("sys.stderr", closed)
    configure_logging("INFO", "json")
    closed.close()
    logger().info("lost")

    monkeypatch.setattr("sys.stderr", current)
    logger().info("kept")

    assert [json.loads(line)["event"] for line in current.getvalue().splitlines()] == ["kept"]


def test_lines_below_the_level_are_left_out(capsys):
    """Only lines of the configured level and above are written, and only to standard error."""
    configure_logging("WARNING", "json")
    log = logger()
    for level in ("debug", "info", "warning", "error"):
        getattr(log, level)(level)

    shown = capsys.readouterr()
    assert [json.loads(line)["event"] for line in shown.err.splitlines()] == ["warning", "error"]
    assert shown.out == ""


def test_nothing_that_is_logged_commands_a_terminal(capsys):
    """What a body logs may come from anywhere, with control characters for who reads it."""
    configure_logging("INFO", "console")

    logger().info("title \x1b]52;c;eA==\x07", found="\x9b2J\r")

    printed = capsys.readouterr().err
    assert "title ?]52;c;eA==?" in printed
    assert "found=?2J?" in printed


def test_the_console_format_is_for_people(capsys):
    """The console format is not JSON, and without a terminal it has no colours."""
    configure_logging("INFO", "console")
    logger().info("sidecar ready", port=5)

    line = capsys.readouterr().err
    assert "sidecar ready" in line
    assert "port=5" in line
    assert "\x1b" not in line


def test_two_sidecars_in_one_process_count_apart():
    """Each `Telemetry` has metrics of its own."""
    first, second = Telemetry(), Telemetry()
    first.call(Call("call-1", "kg.a", "", ""), "procedure").closed()

    assert samples(second, "sidecypher_calls_total") == {}


def test_an_error_without_own_code_is_counted_by_its_class(telemetry):
    """A code such as SC-207 is its own label."""
    telemetry.refused(Call("call-1", "kg.a", "", ""), CallError("", code="SC-207"))

    assert samples(telemetry, "sidecypher_calls_total") == {("kg.a", "SC-207"): 1}


def test_numbers_are_summed_up_for_a_person(telemetry, observe):
    """Refused and failed calls are errors, closed ones are not; times are bounds of buckets."""
    for seconds in (0.0004, 0.003, 0.004, 60.0):
        observe("kg.a").failed(ProcedureFailed(""), seconds)
    observe("kg.a").closed()
    telemetry.refused(Call("call-1", "kg.a", "", ""), ArgumentError(""))
    telemetry.refused(Call("call-2", "kg.b", "", ""), ArgumentError(""))

    found = telemetry.calls.summaries()

    assert (found["kg.a"].calls, found["kg.a"].errors) == (6, 5)
    assert found["kg.a"].mean == pytest.approx(60.0074 / 5)
    assert (found["kg.a"].median, found["kg.a"].p95) == (0.005, math.inf)
    assert (found["kg.b"].calls, found["kg.b"].mean, found["kg.b"].median) == (1, None, None)


def test_failed_calls_are_remembered_by_code(telemetry, observe):
    """What is kept of a failed call is what is logged of it; what went well is not kept."""
    observe("kg.a").failed(ProcedureFailed(SECRET), 0.1)
    observe("kg.a").closed()

    [kept] = telemetry.failed_calls.latest()

    assert (kept.call_id, kept.name, kept.code, kept.user) == ("call-1", "kg.a", "SC-202", "ann")
    assert (kept.database, kept.seconds) == ("people", 0.1)
    assert SECRET not in str(kept)


def test_what_is_turned_away_again_and_again_is_logged_once_a_second(monkeypatch, logs, telemetry):
    """A stranger cannot fill the disk with lines; the next line has how many were left out."""
    now = [100.0]
    monkeypatch.setattr("sidecypher.telemetry.calls.time.monotonic", lambda: now[0])

    for reason in ("no token", "TLS failed"):
        for _ in range(50):
            telemetry.rejected("connection refused", reason)
    now[0] += 1.0
    telemetry.rejected("connection refused", "no token")

    assert [(line["reason"], line.get("untold")) for line in logs()] == [
        ("no token", None),
        ("TLS failed", None),
        ("no token", 49),
    ]
    labels = {"transport": "py4j", "reason": "no token"}
    assert telemetry.metrics.get_sample_value("sidecypher_rejected_total", labels) == 51
