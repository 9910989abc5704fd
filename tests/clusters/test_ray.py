"""Functions on a Ray cluster: the same calls as elsewhere, on nodes that may be lost."""

import itertools
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fix_waiting import wait_until

from sidecypher.errors import CallError

pytestmark = pytest.mark.slow

SECONDS = 60.0
"""For what a busy machine may take: Ray starts a process first."""


@pytest.fixture
def background():
    with ThreadPoolExecutor(8) as pool:
        yield pool.submit


def refused(call, *arguments, **options):
    with pytest.raises(CallError) as caught:
        call(*arguments, **options)
    return caught.value


def nodes_of(places):
    return {node for _value, _pid, node, _began, _ended in places}


@pytest.mark.parametrize("value", [None, True, 2**62, 1.5, "ö\n", [1, [None]], {"a": {"b": []}}])
def test_a_value_comes_back_as_from_a_thread(call, value):
    """Arguments and rows are the same on a thread, in a process and on a cluster."""
    assert call("ray.echo", value) == call("process.echo", value) == call("thread.echo", value)


def test_the_context_says_who_called(call):
    """Id, database and user of the call are known on a node."""
    [[_call_id, database, user]] = call("ray.facts")

    assert [database, user] == call("thread.facts")[0][1:]


@pytest.mark.parametrize("arguments", [(0,), (1,), (5000,), (5000, 3000)])
def test_a_stream_has_the_rows_and_the_error_of_a_thread(call, arguments):
    """All rows arrive in order, and an author's error after those before it."""

    def outcome(name):
        rows = []
        try:
            rows.extend(call.client().rows(name, *arguments))
        except CallError as error:
            return rows, error.code, error.message, error.hint
        return rows, None

    assert outcome("ray.count") == outcome("thread.count")


@pytest.mark.parametrize("how", ["row", "exit", "raise"])
def test_errors_keep_their_code_and_tell_no_secret(call, how):
    """An error on a node has the code and the text that it has on a thread."""
    on_ray, on_thread = refused(call, "ray.fail", how), refused(call, "thread.fail", how)

    assert on_ray.code == on_thread.code
    expected = on_thread.message.replace("thread.", "ray.")
    assert on_ray.message.rpartition(" in call")[0] == expected.rpartition(" in call")[0]
    assert "secret" not in on_ray.message


def test_the_first_row_arrives_before_the_second_is_made(call, tmp_path):
    """A row is sent while its function works on the next one."""
    rows = call.client().rows("ray.drip", str(tmp_path / "go"))

    assert next(rows)[0] == 1
    (tmp_path / "go").touch()
    assert [row[0] for row in rows] == [2]


def test_a_projection_is_the_result_of_its_statement(call):
    """A node, a process and a thread get the same table, whose parameters are the arguments."""
    for names in ([], ["a", "b", "c"]):
        found = call("ray.total", 1.5, names)
        assert found == call("process.total", 1.5, names) == call("thread.total", 1.5, names)
        assert found[0][:2] == ([3, 6.75] if names else [0, None])


def cancel(call, name):
    """Cancel the call of this procedure, as its caller would."""
    [running] = [each for each in call.dispatcher.calls.running() if each.name == name]
    assert call.dispatcher.calls.cancel_by_id(running.call_id)


def test_a_cancelled_function_cleans_up(call, background, tmp_path):
    """A cancellation ends Python code on a node, and lets it clean up."""
    mark = tmp_path / "mark"
    future = background(refused, call, "ray.wait", str(mark), 600.0)

    wait_until(mark.exists, SECONDS)
    cancel(call, "ray.wait")
    assert future.result(SECONDS).code == "SC-207"
    wait_until((tmp_path / "mark.ended").exists, SECONDS)


def test_a_cancelled_stream_cleans_up(call, background, tmp_path):
    """So does one that is cancelled while its rows are on their way."""
    mark = tmp_path / "mark"
    rows = call.client().rows("ray.pour", str(mark))
    for _ in range(random.randrange(1, 3_000)):
        next(rows)

    rows.close()

    wait_until((tmp_path / "mark.ended").exists, SECONDS)


def test_c_code_is_ended_with_its_process(call, background, tmp_path):
    """A cancellation ends a process of Ray that no exception ends."""
    mark = tmp_path / "mark"
    future = background(refused, call, "ray.hold", str(mark), "CDLL")

    wait_until(lambda: mark.exists() and mark.read_text(), SECONDS)
    cancel(call, "ray.hold")
    assert future.result(SECONDS).code == "SC-207"
    wait_until(lambda: not Path("/proc", mark.read_text()).exists(), SECONDS)


@pytest.mark.deep
def test_c_code_that_keeps_the_interpreter_ends_with_its_time(call, tmp_path):
    """A process of Ray in which no Python can run ends when the time of its call is over."""
    mark = tmp_path / "mark"

    assert refused(call, "ray.hold", str(mark), "PyDLL", timeout=15.0).code == "SC-213"
    wait_until(lambda: not Path("/proc", mark.read_text()).exists(), SECONDS)


def test_a_call_that_waits_for_a_node_ends_in_time(call):
    """A call whose resources no node has is ended by its time."""
    assert refused(call, "ray.elsewhere", timeout=2.0).code == "SC-213"
    wait_until(lambda: not call.cluster.state().tasks, SECONDS)


def test_a_batch_runs_on_several_nodes_and_keeps_its_order(call, tmp_path):
    """The parts of a batch run at the same time, and the rows are in the order of the calls."""
    rows = call("ray.meet.batch", [[number, str(tmp_path)] for number in range(60)])

    assert [row[:2] for row in rows] == [[number, number] for number in range(60)]


def test_a_slow_part_holds_no_other(call, tmp_path):
    """What is behind a slow part of a batch is done while the slow part waits for it."""
    rows = call("ray.last.batch", [[number, str(tmp_path)] for number in range(60)])

    assert [row[0] for row in rows] == list(range(60))


def test_a_batch_has_the_errors_of_its_rows(call):
    """Rows, errors and their numbers are those of a batch on a thread."""
    rows = [[number, number % 7] for number in range(100)] + [["no"], "no", []]

    def told(name):
        return [
            [index, value, error and error["code"]]
            for index, value, error in call(f"{name}.divide.batch", rows)
        ]

    assert told("ray") == told("thread")


def test_an_actor_keeps_what_it_has_loaded(call):
    """All calls of a procedure with one actor run in one process."""
    places = [place for _ in range(5) for place in call("ray.single")]

    assert len({pid for _, pid, *_ in places}) == 1
    assert [value for value, *_ in places] == list(range(places[0][0], places[0][0] + 5))


def test_no_more_actors_than_allowed_run(call, background):
    """Further calls wait for one of `max_actors` processes; each runs one call at a time."""
    pids = set()

    def run():
        futures = [background(call, "ray.actor", 0.3) for _ in range(6)]
        found = [future.result(SECONDS)[0] for future in futures]
        pids.update(pid for _, pid, *_ in found)
        return found

    # The first actor may run all calls while the second one starts.
    wait_until(lambda: run() and len(pids) > 1)
    places = run()

    assert len(pids) == 2
    for pid in pids:
        times = sorted((began, ended) for _, owner, _, began, ended in places if owner == pid)
        assert all(first[1] <= second[0] for first, second in itertools.pairwise(times))


def test_an_actor_that_cleans_up_in_time_stays(call):
    """A cancelled call leaves the process of its actor to the next one."""
    [[before, pid, *_]] = call("ray.single")

    assert refused(call, "ray.single", 60.0, timeout=1.0).code == "SC-213"
    [[after, again, *_]] = call("ray.single")
    assert (again, after) == (pid, before + 2)


def test_an_actor_that_dies_is_replaced(call):
    """A call whose actor dies fails, and the next one has a new process."""
    assert refused(call, "ray.single", -1.0).code == "SC-212"
    assert [call("ray.single")[0][0] for _ in range(2)] == [1, 2]


def test_calls_that_wait_for_an_actor_get_its_successor(call, background):
    """When an actor dies, those who wait for it wait for the one in its place."""
    futures = [
        background(_outcome, call, "ray.single", seconds) for seconds in (1.0, -1.0, 0.0, 0.0)
    ]

    codes = [future.result(SECONDS)[0] for future in futures]
    assert sorted(map(str, codes)) == ["None", "None", "None", "SC-212"]


def test_an_actor_that_is_cancelled_twice_is_lent_when_it_has_ended(call, background):
    """A second cancellation does not give its process to another call meanwhile."""
    call("ray.single")
    future = background(refused, call, "ray.single", 600.0)
    wait_until(lambda: any(each.name == "ray.single" for each in call.dispatcher.calls.running()))
    [running] = [each for each in call.dispatcher.calls.running() if each.name == "ray.single"]
    lease = call.dispatcher.calls.find(running.call_id, "client")._lease
    wait_until(lambda: lease.queued, SECONDS)
    for _ in range(3):
        call.cluster.cancel(lease)
        time.sleep(0.1)  # its function cleans up for longer

    # On a busy machine the process may not end in time; then its successor runs all of them.
    assert len({row[1] for _ in range(5) for row in call("ray.single")}) == 1
    assert future.result(SECONDS).code == "SC-207"


def test_an_actor_that_cannot_be_started_is_no_riddle(call, background):
    """All who wait for it are told at once, and the next one too."""
    futures = [background(refused, call, "ray.impossible") for _ in range(4)]

    assert {future.result(SECONDS).code for future in futures} == {"SC-222"}
    assert refused(call, "ray.impossible").code == "SC-222"


def test_too_much_memory_ends_one_process_only(call):
    """A function may use what it is allowed, and the call that needs more is told so."""
    assert call("ray.grow", 100) == [[100 * 1024 * 1024]]
    error = refused(call, "ray.grow", 4000)
    assert (error.code, "512 MiB" in error.message) == ("SC-220", True)
    assert call("ray.echo", 1) == [[1]]


def test_rows_beyond_the_limit_are_refused(call):
    """A call may send as many bytes from a node as from a worker process."""
    assert refused(call, "ray.echo", "x" * 1_500_000 + "ö" * 400_000).code == "SC-216"


def test_a_lost_process_leaves_the_outcome_unknown(call, tmp_path):
    """A function that does not say that it may run twice runs once."""
    assert refused(call, "ray.lose", str(tmp_path), 0).code == "SC-212"
    assert len(list(tmp_path.iterdir())) == 1


def test_what_may_run_again_does(call, tmp_path):
    """A retryable function whose process was lost before its first row runs again."""
    assert [row[0] for row in call("ray.loseAndRetry", str(tmp_path), 0)] == [0]
    assert len(list(tmp_path.iterdir())) == 2


def test_rows_are_not_given_twice(call, tmp_path):
    """After its first row a retryable function does not run again."""
    assert refused(call, "ray.loseAndRetry", str(tmp_path), 3).code == "SC-212"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_function_that_is_always_lost_runs_three_times(call, tmp_path):
    """A retryable function runs again twice, and no more."""
    assert refused(call, "ray.always", str(tmp_path)).code == "SC-212"
    assert len(list(tmp_path.iterdir())) == 3


def test_a_node_that_is_lost_takes_its_calls_along(call, nodes, background, tmp_path):
    """Calls on a lost node fail with an unknown outcome, and those on other nodes go on."""
    marks = [tmp_path / str(number) for number in range(3)]
    futures = [background(_outcome, call, "ray.wait", str(mark), 8.0) for mark in marks]
    for mark in marks:
        wait_until(mark.exists, SECONDS)

    lost = min(nodes.killable)
    nodes.kill(lost)

    outcomes = [future.result(SECONDS) for future in futures]
    assert sorted(str(code) for code, _rows in outcomes) == ["None", "None", "SC-212"]
    assert lost not in nodes_of(row for _code, rows in outcomes for row in rows)


def _outcome(call, *arguments):
    try:
        return None, call(*arguments)
    except CallError as error:
        return error.code, []


def test_many_calls_at_a_time(call):
    """Callers that call at once all get their own rows."""
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda number: call("ray.many", number), range(200)))

    assert found == [[[number]] for number in range(200)]
    wait_until(lambda: not call.cluster.state().tasks, SECONDS)


def test_a_reload_loads_the_procedures_again(call):
    """After a reload calls run in new processes; one that runs goes on in its old one."""
    [[_, before, *_]] = call("ray.actor")
    thread = threading.Thread(target=call, args=("ray.rest", 3.0))
    thread.start()
    wait_until(lambda: call.cluster.state().tasks, SECONDS)

    call.cluster.reload(call.loaded.sources_for_workers)

    [[value, pid, *_]] = call("ray.actor")
    assert (value, pid != before) == (1, True)
    thread.join(SECONDS)
    assert not thread.is_alive()
