"""Neo4j and the sidecar in containers, where something runs containers."""

import contextlib
import os

import pytest
from containers.deployment import Deployment
from containers.engine import NoEngine, running_engine
from fix_waiting import wait_until


@pytest.fixture(scope="session")
def engine(installation):
    """What runs containers; without it the tests skip, but not on CI."""
    with contextlib.ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        try:
            found = stack.enter_context(running_engine(installation))
        except NoEngine as error:
            # No CI may pass without its containers.
            if os.environ.get("CI"):
                raise
            pytest.skip(f"containers are not tested: {error}")
        for name, value in found.environ.items():
            patch.setenv(name, value)
        yield found


@pytest.fixture(scope="session")
def deployment(engine, core_jar, tmp_path_factory):
    """docker/compose.yml, up and healthy, with the procedures of tests/procedures."""
    with Deployment(engine, tmp_path_factory.mktemp("docker") / "docker").up() as found:
        yield found


class DockerServer:
    """What tests ask of a server, as far as containers give it."""

    def __init__(self, deployment):
        self._deployment = deployment
        self.driver = deployment.driver

    def command(self, *arguments):
        """Run the command line beside the sidecar."""
        return self._deployment.run("sidecar", "sidecypher", *arguments)

    def await_sidecar(self):
        wait_until(self._deployment.is_served)

    def logs(self):
        files = self._deployment.run("neo4j", "sh", "-c", "cat /logs/*.log")
        return self._deployment.logs() + files.stdout


@pytest.fixture(scope="session")
def docker_server(deployment):
    """The server of `SIDECYPHER_TEST_BACKEND=docker`."""
    return DockerServer(deployment)
