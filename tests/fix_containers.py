"""Neo4j and the sidecar in containers, where something runs containers."""

import contextlib
import os

import pytest
from containers.deployment import Deployment
from containers.engine import NoEngine, running_engine


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
