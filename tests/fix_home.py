"""What homes of tests begin with: a graph that has the schema, and a plugin that may still fit."""

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from shared_cache import cached

import sidecypher_schema
from sidecypher.runtime.lockfile import load_lock
from sidecypher.runtime.neo4j import OWN_SETTINGS
from sidecypher_schema import migrate

PLUGIN = Path("neo4j/plugins/sidecypher.jar")
_GRAPH = (Path("neo4j/data"), Path("neo4j/lane"), Path("neo4j-password"))
# Tests fill and empty one graph all the time. With its usual settings, Neo4j plans their statements
# again for each size of a parameter, after ten runs, and when the counts of nodes have changed,
# which is most of what it then does.
_SETTINGS = """
internal.cypher.use_parameter_size=false
internal.cypher.expression_engine=INTERPRETED
dbms.cypher.min_replan_interval=1h
"""
_SCHEMA = Path(sidecypher_schema.__file__).parent


def fill(home, up, *parts):
    """Copy the graph, with its password, and the plugin; or the plugin alone.

    Each schema has them in the cache, from a home that `up` started.
    """
    made_of = [load_lock().to_json(), Path(__file__).read_bytes()]
    made_of += [file.read_bytes() for file in sorted(_SCHEMA.rglob("*.cypher"))]
    digest = hashlib.sha256(b"".join(made_of)).hexdigest()[:16]
    source = cached(f"test-home-{digest}", lambda folder: _make(folder, up))
    for part in parts or (*_GRAPH, PLUGIN):
        _copy(source, home, part)
    conf = home / "neo4j" / "conf"
    conf.mkdir(parents=True)
    (conf / OWN_SETTINGS).write_text(_SETTINGS)
    return source


def keep_plugin(home, source):
    """Keep a plugin that `up` had to build, since procedures have changed."""
    if (home / PLUGIN).read_bytes() != (source / PLUGIN).read_bytes():
        fresh = shutil.copy(home / PLUGIN, source / f"{os.getpid()}.jar")
        fresh.replace(source / PLUGIN)


def _make(folder, up):
    with tempfile.TemporaryDirectory(prefix="sidecypher-test-") as name:
        home = Path(name)
        with up(home) as server, server.driver() as driver:
            migrate(driver)
        for part in (*_GRAPH, PLUGIN):
            shutil.rmtree(folder / part, ignore_errors=True)
            _copy(home, folder, part)


def _copy(source, target, part):
    (target / part).parent.mkdir(parents=True, exist_ok=True)
    copy = shutil.copytree if (source / part).is_dir() else shutil.copy2
    copy(source / part, target / part)
