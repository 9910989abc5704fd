"""S20: a stranger on the server that tries a new plugin."""

import neo4j
import psutil
import pytest
from neo4j.exceptions import AuthError, ClientError

from sidecypher.host.address import USER
from sidecypher.runtime import bootcheck
from sidecypher.runtime.bootcheck import boot_check


@pytest.fixture(scope="module")
def seen(installation, java):
    """What a stranger meets while a plugin is tried: answers by what was tried."""
    found = {}

    def stranger(server):
        found["without"] = logon_error(server, None)
        found["first"] = logon_error(server, (USER, USER))
        [process] = [each for each in psutil.Process().children() if "java" in each.name()]
        found["ports"] = {
            each.laddr.port
            for each in process.net_connections("tcp")
            if each.status == psutil.CONN_LISTEN
        } - {server.ports.bolt}
        with server.address.driver() as driver:
            (server.folder / "import" / "data.csv").write_text("one\n")
            with pytest.raises(ClientError) as refused:
                driver.execute_query("LOAD CSV FROM 'file:///data.csv' AS line RETURN line")
        found["file"] = str(refused.value)
        return offered(server)

    offered = bootcheck.offered_names
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bootcheck, "offered_names", stranger)
        boot_check(None, {"apoc.trigger.install"}, installation=installation, java=java)
    return found


def logon_error(server, auth):
    """Log on, and return the error; None if there is none."""
    with neo4j.GraphDatabase.driver(f"bolt://127.0.0.1:{server.ports.bolt}", auth=auth) as driver:
        try:
            driver.execute_query("RETURN 1")
        except (AuthError, ClientError) as error:
            return error.code
    return None


def test_nobody_gets_in_without_its_password(seen):
    """Neither without one nor by the one that every new Neo4j has."""
    refused = "Neo.ClientError.Security.Unauthorized"
    assert (seen["without"], seen["first"]) == (refused, refused)


def test_it_listens_for_bolt_only(seen):
    """There is no HTTP for a web page or for anybody."""
    assert seen["ports"] == set()


def test_its_cypher_reads_no_file(seen):
    """Not even those of its import folder: nothing is imported there."""
    assert "allow_csv_import_from_file_urls" in seen["file"] or "disabled" in seen["file"]
