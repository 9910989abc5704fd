"""Archive of Neo4j's classes, with which a JVM starts Neo4j in about half the time.

Each start of Neo4j loads and verifies some 20 000 classes. A JVM can map them from an archive
instead, which another JVM has written (https://openjdk.org/jeps/350).
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import Final

from neo4j.exceptions import DriverError, Neo4jError

from sidecypher.host.locks import file_lock
from sidecypher.runtime._temporary_server import running, temporary_server
from sidecypher.runtime.errors import ServerFailed
from sidecypher.runtime.installation import Installation
from sidecypher.runtime.java import Java
from sidecypher.runtime.neo4j import Neo4jServer
from sidecypher.runtime.process.spec import ProcessSpec

_LOCK_SECONDS: Final = 300.0
_DUMP_SECONDS: Final = 120.0
"""Time in which the JVM ends, and writes 140 MB before."""

# Statements load many classes of their own, the planner above all.
_STATEMENTS: Final = """
SHOW PROCEDURES YIELD name;
SHOW FUNCTIONS YIELD name;
CREATE CONSTRAINT one IF NOT EXISTS FOR (n:One) REQUIRE n.key IS UNIQUE;
CREATE INDEX two IF NOT EXISTS FOR (n:One) ON (n.name, n.at);
CREATE FULLTEXT INDEX three IF NOT EXISTS FOR (n:One|Two) ON EACH [n.name];
CALL db.awaitIndexes(60);
SHOW CONSTRAINTS YIELD name RETURN name;
UNWIND range(1, 9) AS key MERGE (n:One {key: key})
ON CREATE SET n.at = datetime() ON MATCH SET n += {name: toString(key)};
MATCH (a:One), (b:One {key: a.key + 1}) MERGE (a)-[r:NEXT {at: $at}]->(b)
WITH a, b, collect(r {.*}) AS found WHERE size(found) > 0
CALL (a, b) { OPTIONAL MATCH (a)-[:NEXT*1..3]->(c) WHERE EXISTS { (c)<--(b) } RETURN c }
RETURN DISTINCT a.key AS key, coalesce(c.name, $names[0]) AS name,
CASE WHEN a.key > 3 THEN [x IN range(0, 3) WHERE x > 1 | x * 2] ELSE [] END AS list
ORDER BY key DESC SKIP 1 LIMIT 5;
EXPLAIN MATCH p = (:One {key: 1})-->(n) FOREACH (x IN nodes(p) | SET x.seen = true) RETURN n;
CALL db.index.fulltext.queryNodes('three', 'a') YIELD node, score RETURN node, score;
MATCH (n) DETACH DELETE n
"""


def write_class_archive(installation: Installation, java: Java) -> None:
    """Write the archive for this Java, unless it exists; takes about 30 s and 140 MB of the cache.

    Runs Neo4j once, in a temporary folder.

    Raises:
        ServerFailed: Neo4j does not start, or does not run the statements.
        OSError: The archive cannot be written.
    """
    archive = installation.class_archive(java)
    draft = archive.with_suffix(".draft")
    with file_lock(archive.with_suffix(".lock"), seconds=_LOCK_SECONDS):
        if archive.exists():
            return
        try:
            with temporary_server(installation, java) as closed:
                # The classes of HTTP are in the archive, too.
                server = replace(closed, closed=False)
                server.prepare()
                with running(_recording(server, draft)), server.address.driver() as driver:
                    for statement in _STATEMENTS.split(";"):
                        driver.execute_query(statement, at=1, names=["a"])
            draft.replace(archive)
        except (DriverError, Neo4jError) as error:
            raise ServerFailed("Neo4j did not run the statements that load its classes") from error
        finally:
            draft.unlink(missing_ok=True)


def _recording(server: Neo4jServer, draft: Path) -> ProcessSpec:
    """Return the process of a server that has no plugins, and writes the archive at its end.

    An archive fits every class path that begins with its own. Those of homes begin with Neo4j's
    jars, and end with plugins.
    """
    for plugin in server.plugin_folder.iterdir():
        plugin.unlink()
    jars = os.pathsep.join(map(str, server.installation.jars("lib")))
    spec = server.process(restart=False)
    program, *arguments = spec.argv
    [place] = [index for index, each in enumerate(arguments) if each.startswith("@")]
    arguments[place : place + 1] = ["-cp", jars]
    argv = (program, f"-XX:ArchiveClassesAtExit={draft}", *arguments)
    return replace(spec, argv=argv, stop_grace=_DUMP_SECONDS)
