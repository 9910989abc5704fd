"""Neo4j's classes as a JVM maps them into memory, which spares each further start their loading."""

import hashlib
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from fix_waiting import wait_until
from shared_cache import cached

from sidecypher.runtime._temporary_server import temporary_server
from sidecypher.runtime.process.spec import launch_process

_FILE = "neo4j.jsa"
_STATEMENTS = """
SHOW PROCEDURES YIELD name;
SHOW FUNCTIONS YIELD name;
CREATE CONSTRAINT one IF NOT EXISTS FOR (n:One) REQUIRE n.key IS UNIQUE;
CREATE INDEX two IF NOT EXISTS FOR (n:One) ON (n.name, n.at);
CREATE TEXT INDEX three IF NOT EXISTS FOR (n:One) ON (n.name);
CREATE FULLTEXT INDEX four IF NOT EXISTS FOR (n:One|Two) ON EACH [n.name];
CALL db.awaitIndexes(60);
SHOW CONSTRAINTS YIELD name RETURN name;
SHOW INDEXES YIELD name RETURN name;
UNWIND range(1, 9) AS key MERGE (n:One {key: key})
ON CREATE SET n.at = datetime() ON MATCH SET n += {name: toString(key)};
MATCH (a:One), (b:One {key: a.key + 1}) MERGE (a)-[r:NEXT {at: $at}]->(b)
WITH a, b, collect(r {.*}) AS found WHERE size(found) > 0
CALL (a, b) { OPTIONAL MATCH (a)-[:NEXT*1..3]->(c) WHERE EXISTS { (c)<--(b) } RETURN c }
RETURN DISTINCT a.key AS key, coalesce(c.name, $names[0]) AS name,
CASE WHEN a.key > 3 THEN [x IN range(0, 3) WHERE x > 1 | x * 2] ELSE [] END AS list
ORDER BY key DESC SKIP 1 LIMIT 5;
EXPLAIN MATCH p = (:One {key: 1})-->(n) FOREACH (x IN nodes(p) | SET x.seen = true) RETURN n;
CALL db.index.fulltext.queryNodes('four', 'a') YIELD node, score RETURN node, score;
SHOW TRANSACTIONS YIELD transactionId, currentQuery RETURN transactionId;
MATCH (n) DETACH DELETE n;
DROP INDEX two IF EXISTS;
DROP CONSTRAINT one IF EXISTS
"""
"""Much is loaded by statements only, the planner above all."""
_USE = "-XX:SharedArchiveFile="
_SILENT = "-Xlog:cds=off -Xlog:cds+dynamic=off"
"""A JVM that the archive does not fit, such as a compiler's, goes without and is to say nothing."""


@pytest.fixture(scope="session")
def class_archive(installation, java):
    """Let the JVMs that start from now on use an archive, which is made once."""
    options = os.environ["JAVA_TOOL_OPTIONS"]
    if not options or _USE in options:
        # They are to be as users run them; or a test runs these tests, with the archive of its own.
        yield
        return
    told = subprocess.run([java.executable, "-version"], capture_output=True, check=True)
    made_of = (installation.lock.to_json(), told.stderr, Path(__file__).read_bytes())
    digest = hashlib.sha256(b"".join(made_of)).hexdigest()[:16]
    folder = cached(f"test-classes-{digest}", lambda folder: _make(folder, installation, java))
    with pytest.MonkeyPatch.context() as patch:
        use = f"{_USE}{folder / _FILE} {_SILENT}"
        patch.setenv("JAVA_TOOL_OPTIONS", f"{options} {use}")
        yield


def _make(folder, installation, java):
    """Run a Neo4j that writes at its end which classes it has loaded."""
    with temporary_server(installation, java) as closed:
        # Jetty's classes too.
        server = replace(closed, closed=False)
        server.prepare()
        process = launch_process(_recording(server, folder / _FILE))
        try:
            wait_until(lambda: server.answers() or process.poll() is not None, 180)
            with server.address.driver() as driver:
                for statement in _STATEMENTS.split(";"):
                    driver.execute_query(statement, at=1, names=["a"])
            process.terminate()
            # It writes 150 MB.
            assert process.wait(300) == 0, server.log_file.read_text()
        finally:
            process.kill()
            process.wait()


def _recording(server, file):
    """The process of a server without plugins: an archive fits class paths that begin like its."""
    for link in server.plugin_folder.iterdir():
        link.unlink()
    jars = os.pathsep.join(map(str, server.installation.jars("lib")))
    spec = server.process(restart=False)
    program, *arguments = spec.argv
    [place] = [index for index, each in enumerate(arguments) if each.startswith("@")]
    arguments[place : place + 1] = ["-cp", jars]
    return replace(spec, argv=(program, f"-XX:ArchiveClassesAtExit={file}", *arguments))
