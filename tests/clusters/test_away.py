"""What callers get when there is no Ray cluster, and when one comes back."""

import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from clusters.conftest import READY_SECONDS, Nodes, Spread
from fix_waiting import wait_until

from sidecypher.errors import CallError

pytestmark = pytest.mark.slow


@pytest.fixture
def on():
    """Make a dispatcher with the cluster at an address."""
    made = []

    def make(address):
        made.append(Spread(address))
        return made[-1]

    yield make
    for each in made:
        each.stop()


@pytest.fixture
def cluster():
    """Make clusters of three nodes."""
    made = []

    def make(port=None):
        made.append(Nodes(port))
        made[-1].fill()
        return made[-1]

    yield make
    for each in made:
        each.stop()


@pytest.fixture
def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def refused(call, *arguments, **options):
    with pytest.raises(CallError) as caught:
        call(*arguments, **options)
    return caught.value


def problem_of(call):
    """Wait until the driver has told what is wrong."""
    call.cluster.start()
    return wait_until(lambda: call.cluster.state().problem, READY_SECONDS)


def test_without_an_address_a_call_is_refused(on):
    """The error names the setting; other executors go on."""
    call = on("")

    assert "`ray_address`" in refused(call, "ray.echo", 1).hint
    assert refused(call, "ray.echo", 1).code == "SC-222"
    assert call("process.echo", 1) == call("thread.echo", 1) == [[1]]


def test_a_cluster_that_is_not_there_is_named_and_awaited(on, cluster, free_port):
    """Calls are refused with the reason, and succeed when the cluster has come."""
    call = on(f"127.0.0.1:{free_port}")

    assert "no cluster answers" in problem_of(call)
    error = refused(call, "ray.echo", 1)
    assert (error.code, "no cluster answers" in error.message) == ("SC-222", True)

    cluster(free_port)
    wait_until(lambda: call.cluster.state().nodes, READY_SECONDS)
    assert call("ray.echo", 1) == [[1]]


def test_another_version_of_ray_is_told_with_both(on, cluster):
    """The sidecar does not join a cluster of another version, and tells its own."""
    made = cluster()
    made.pretend_version("2.9.9")
    call = on(made.address)

    assert "another version" in problem_of(call)
    import ray  # noqa: PLC0415 - the cluster has set how it is imported

    assert f"Ray {ray.__version__}" in refused(call, "ray.echo", 1).hint


def test_an_address_that_is_no_cluster_is_refused(on):
    """Something else that listens at the address is no cluster, and nothing hangs."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        closing = threading.Thread(target=_close_all, args=(other,), daemon=True)
        closing.start()
        call = on(f"127.0.0.1:{other.getsockname()[1]}")

        assert refused(call, "ray.echo", 1, timeout=5.0).code in {"SC-213", "SC-222"}


def _close_all(listener):
    while True:
        try:
            listener.accept()[0].close()
        except OSError:
            return


@pytest.mark.deep
def test_a_lost_head_ends_its_calls_and_another_takes_its_place(on, cluster, free_port, tmp_path):
    """Calls on a cluster that is lost fail with an unknown outcome; a new one is found."""
    first = cluster(free_port)
    call = on(first.address)
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(refused, call, "ray.wait", str(tmp_path / "mark"), 600.0)
        wait_until((tmp_path / "mark").exists, READY_SECONDS)
        first.stop()
        assert future.result(READY_SECONDS).code == "SC-212"

    assert "no cluster answers" in problem_of(call)
    cluster(free_port)
    wait_until(lambda: call.cluster.state().nodes, READY_SECONDS)
    assert call("ray.echo", 1) == [[1]]


@pytest.mark.deep
def test_ten_thousand_calls(on, cluster):
    """Each of many calls at a time gets its own rows, and none is left behind."""
    call = on(cluster().address)
    call("ray.many", 0)
    with ThreadPoolExecutor(32) as pool:
        found = list(pool.map(lambda number: call("ray.many", number), range(10_000)))

    assert found == [[[number]] for number in range(10_000)]
    wait_until(lambda: not call.cluster.state().tasks, READY_SECONDS)
