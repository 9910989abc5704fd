"""A Neo4j that somebody else runs, with the plugin and a sidecar of `tests/procedures`."""

import os
from functools import partial

import neo4j
import pytest
from fix_waiting import is_served, wait_until

URI = "SIDECYPHER_TEST_NEO4J_URI"
"""A name of its own: the graph there is wiped."""

PASSWORD = "SIDECYPHER_TEST_NEO4J_PASSWORD"


class ExternalServer:
    """What tests ask of a server, as far as an address gives it."""

    def __init__(self, uri, password):
        self._uri = uri
        self._password = password

    def driver(self, **options):
        return neo4j.GraphDatabase.driver(self._uri, auth=("neo4j", self._password), **options)

    def await_sidecar(self):
        with self.driver() as driver:
            call = partial(driver.execute_query, "CALL test.echo('there') YIELD value")
            wait_until(lambda: is_served(call))


@pytest.fixture(scope="session")
def external_server():
    """The server of `SIDECYPHER_TEST_NEO4J_URI`."""
    if PASSWORD not in os.environ:
        pytest.fail(f"{URI} is set, and {PASSWORD} is not: set it to the password of `neo4j`")
    return ExternalServer(os.environ[URI], os.environ[PASSWORD])
