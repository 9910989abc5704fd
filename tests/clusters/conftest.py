"""A Ray cluster of three nodes on this machine, and a dispatcher that runs procedures on it."""

import json
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from fix_waiting import wait_until

from sidecypher.calls.dispatcher import Dispatcher
from sidecypher.calls.executors.loop import EventLoop
from sidecypher.calls.executors.pool import ProcessWorkers
from sidecypher.calls.executors.pool_messages import Setup
from sidecypher.calls.executors.ray.cluster import RayCluster
from sidecypher.host.limits import Limits
from sidecypher.loading.loader import load
from sidecypher.protocol.envelope import RunReply
from sidecypher.sdk.resources import Resources
from sidecypher.telemetry.calls import Telemetry
from sidecypher.transport.memory import Client, memory

PROCEDURES = Path(__file__).parent / "procedures"
MESSAGE_BYTES = 2 * 1024 * 1024
READY_SECONDS = 120.0

# Ray reads these variables when it is imported.
os.environ.update(RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER="0", RAY_USAGE_STATS_ENABLED="0")


class Nodes:
    """A Ray cluster of three nodes with a CPU each."""

    def __init__(self, port=None):
        # Ray's sockets have their place in the path of this folder, which must be short.
        self._folder = tempfile.mkdtemp(prefix="ray-")
        from ray._common.utils import get_default_ray_temp_dir  # noqa: PLC0415
        from ray.cluster_utils import Cluster  # noqa: PLC0415

        # Ray writes the address there whatever `temp_dir` is, and does not make the folder.
        Path(get_default_ray_temp_dir()).mkdir(exist_ok=True)
        self._cluster = Cluster(
            initialize_head=True,
            head_node_args={
                "num_cpus": 1,
                "include_dashboard": False,
                "temp_dir": self._folder,
                "gcs_server_port": port,
                "object_store_memory": 200 * 1024 * 1024,
            },
        )
        self.address = self._cluster.address
        self._others = []

    def fill(self):
        """Add nodes until there are three; a machine without a free core may have lost one."""
        self._others = [each for each in self._others if each.remaining_processes_alive()]
        while len(self._others) < 2:
            self._others.append(
                self._cluster.add_node(num_cpus=1, object_store_memory=200 * 1024 * 1024)
            )

    def kill(self, node_id):
        """Kill a node, with all its processes."""
        node = next(each for each in self._others if each.node_id == node_id)
        self._others.remove(node)
        self._cluster.remove_node(node, allow_graceful=False)

    def pretend_version(self, version):
        """Let the cluster say that it has another version of Ray."""
        from ray._common.usage import usage_constants  # noqa: PLC0415
        from ray._private import ray_constants  # noqa: PLC0415

        client = self._cluster.head_node.get_gcs_client()
        key = usage_constants.CLUSTER_METADATA_KEY
        place = ray_constants.KV_NAMESPACE_CLUSTER
        found = json.loads(client.internal_kv_get(key, namespace=place))
        found["ray_version"] = version
        client.internal_kv_put(key, json.dumps(found).encode(), True, namespace=place)

    @property
    def killable(self):
        """Nodes that are not the head."""
        return {node.node_id for node in self._others}

    def stop(self):
        self._cluster.shutdown()
        shutil.rmtree(self._folder, ignore_errors=True)


def answer(_method, request):
    """Answer the statement of `total` as Neo4j would."""
    names, factor = request.params["names"], request.params["factor"]
    return RunReply(["name", "x"], [[name, factor] for name in names or []], more=False)


class Spread:
    """A dispatcher whose procedures run on threads, in processes and on a cluster."""

    def __init__(self, address, **setup):
        self.loaded = load([PROCEDURES])
        assert not self.loaded.failures, self.loaded.failures
        sources = self.loaded.sources_for_workers
        own = Setup([str(PROCEDURES)], sources, 512, MESSAGE_BYTES, "INFO")
        self.cluster = RayCluster(own, address)
        self.workers = ProcessWorkers(Setup([str(PROCEDURES)], sources), 1)
        self.loop, self.resources, self.telemetry = EventLoop(), Resources(), Telemetry()
        self.dispatcher = Dispatcher(
            self.loaded.registry,
            self.loop,
            self.resources,
            self.telemetry,
            Limits(message_bytes=MESSAGE_BYTES),
            workers=self.workers,
            ray=self.cluster,
        )
        self._signatures = {found.name: found.entry.signature for found in self.loaded.registry}

    def client(self, timeout=60.0):
        return Client(memory(self.dispatcher, answer), self._signatures, timeout=timeout)

    def __call__(self, name, *arguments, timeout=60.0):
        """Call a procedure; return its rows."""
        return list(self.client(timeout).rows(name, *arguments))

    def stop(self):
        self.cluster.stop()
        self.workers.stop()
        self.loop.stop([self.resources.stop])


@pytest.fixture(scope="module")
def nodes():
    made = Nodes()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def spread(nodes):
    made = Spread(nodes.address)
    made.cluster.start()
    yield made
    made.stop()


@pytest.fixture
def call(nodes, spread):
    """Call a procedure on a cluster of three nodes."""
    nodes.fill()
    wait_until(lambda: spread.cluster.state().nodes == 3, READY_SECONDS)
    return spread
