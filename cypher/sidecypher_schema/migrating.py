"""Bring a graph to what the files say."""

import neo4j

from sidecypher_schema.chain import CONSTRAINT, Author, read_chain
from sidecypher_schema.graph import connect
from sidecypher_schema.lock import LEASE_SECONDS, held, machine_user
from sidecypher_schema.runner import Runner, Tell, silent
from sidecypher_schema.scripts import Script, Scripts, shipped_scripts


def migrate(
    driver: neo4j.Driver,
    scripts: Scripts | None = None,
    *,
    wait: float = 0.0,
    lease: float = LEASE_SECONDS,
    tell: Tell = silent,
) -> list[Script]:
    """Apply what is pending; nothing is written when nothing is.

    Returns:
        What was applied.
    """
    scripts = scripts or shipped_scripts()
    graph = connect(driver)
    with held(graph, wait=wait, lease=lease) as lock:
        graph.run(CONSTRAINT)
        chain = read_chain(graph.run, scripts.target)
        [user] = graph.run("SHOW CURRENT USER YIELD user")
        runner = Runner(
            graph, lock, Author(machine_user(), user["user"] or ""), scripts.target, tell
        )
        done = []
        known = {each.version: each.checksum for each in chain}
        for script in scripts.migrations:
            if script.version not in known or (
                script.repeatable and known[script.version] != script.checksum
            ):
                runner.apply(script, chain)
                chain = read_chain(graph.run, scripts.target)
                done.append(script)
        return done
