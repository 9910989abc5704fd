"""S19: Cypher that reads files of the account."""

import pytest
from neo4j.exceptions import Neo4jError

_READ = "LOAD CSV FROM $url AS line FIELDTERMINATOR '\\u0001' RETURN line"

_APOC = {
    "apoc.load.json": "CALL apoc.load.json($url) YIELD value RETURN value",
    "apoc.load.jsonArray": "CALL apoc.load.jsonArray($url) YIELD value RETURN value",
    "apoc.load.xml": "CALL apoc.load.xml($url) YIELD value RETURN value",
    "apoc.import.csv": "CALL apoc.import.csv([{fileName: $url, labels: ['Read']}], [], {})",
    "apoc.import.json": "CALL apoc.import.json($url)",
    "apoc.import.xml": "CALL apoc.import.xml($url)",
    "apoc.import.graphml": "CALL apoc.import.graphml($url, {})",
}
"""Each procedure of APOC that takes the address of what it reads."""


@pytest.fixture
def folder(server):
    """The one folder that Cypher may read."""
    return server.home / "neo4j" / "import"


@pytest.fixture
def secret(server):
    """A file of the account, with a text that is in no other."""
    file = server.home / "secret.txt"
    file.write_text('{"text": "only for the account"}\n')
    yield file
    file.unlink()


def refusal(session, statement, **parameters):
    """Run a statement that has to be refused; return what Neo4j says."""
    with pytest.raises(Neo4jError) as caught:
        session.run(statement, **parameters).consume()
    assert "only for the account" not in str(caught.value)
    return str(caught.value)


def files_of_the_account(server, secret):
    run = server.home / "run"
    return [secret, run / "http-token", run / "key.pem", server.home / "neo4j-password"]


def test_load_csv_reads_no_file_of_the_account(server, session, secret):
    """Neither by its path, nor by that of the system's files, nor out of the folder by dots."""
    places = [str(each) for each in files_of_the_account(server, secret)]
    places += [
        "/etc/passwd",
        "/proc/self/environ",
        f"/proc/{server.process('sidecar').pid}/environ",
    ]
    climbs = [f"/{'../' * 20}{place.lstrip('/')}" for place in places]
    coded = [climb.replace("../", "%2e%2e/") for climb in climbs]

    for place in places + climbs + coded:
        for url in (f"file://{place}", f"file:{place}"):
            refusal(session, _READ, url=url)


@pytest.mark.parametrize("name", _APOC)
def test_apoc_reads_no_file(session, folder, secret, name):
    """As it comes it reads none at all, those of the folder included."""
    inside = folder / "inside.json"
    inside.write_text(secret.read_text())
    try:
        for url in (f"file://{secret}", str(secret), "file:///inside.json", "inside.json"):
            assert "apoc.import.file.enabled" in refusal(session, _APOC[name], url=url)
    finally:
        inside.unlink()


def test_what_is_put_into_the_folder_is_read(session, folder):
    """The folder is for files that are to be imported; it is there, for its owner alone."""
    assert folder.stat().st_mode & 0o777 == 0o700
    data = folder / "data.csv"
    data.write_text("one,two\n")
    try:
        assert session.run("LOAD CSV FROM 'file:///data.csv' AS line RETURN line").value() == [
            ["one", "two"]
        ]
    finally:
        data.unlink()
