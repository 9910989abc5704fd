"""docker/compose.yml for real: images built, containers up, calls from one to the other."""


def test_a_call_goes_from_neo4j_to_the_sidecar(deployment):
    """A procedure in the sidecar's container answers a query in Neo4j's."""
    with deployment.driver() as driver:
        [record] = driver.execute_query("CALL demo.greet('Ann') YIELD text").records

    assert record["text"] == "Hello Ann"
