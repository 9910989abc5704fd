"""`sidecypher version`."""

import hashlib
import platform
from importlib.metadata import version as installed_version
from typing import Any

from sidecypher.cli.options import AsJson, Config, Procedures
from sidecypher.cli.output import show_facts, show_json
from sidecypher.cli.prepare import load_procedures
from sidecypher.host.settings import load_settings
from sidecypher.loading.loader import Loaded
from sidecypher.runtime.lockfile import load_lock
from sidecypher_plugin.builder import CORE_JAR


def version(procedures: Procedures = None, config: Config = None, as_json: AsJson = False) -> None:
    """Show the versions of sidecypher and its parts.

    Two installations are compatible if they have the same `core` and `catalogue`. These are hashes
    of the Java core in plugins, and of the signatures of all procedures.

    | member | meaning |
    |---|---|
    | `sidecypher` | version of this package |
    | `python` | version of Python |
    | `neo4j` | version of the embedded Neo4j, by [lane](runtime.md#lanes) |
    | `core` | SHA-256 of the Java core, null when it was not built |
    | `catalogue` | SHA-256 of all signatures, null when a module cannot be loaded |

    ```sh
    sidecypher version --json
    ```
    """
    facts = _facts(load_procedures(load_settings({"procedures": procedures}, config=config)))
    if as_json:
        show_json(facts)
        return
    show_facts({**facts, "neo4j": ", ".join(f"{v} ({lane})" for lane, v in facts["neo4j"].items())})


def _facts(loaded: Loaded) -> dict[str, Any]:
    return {
        "sidecypher": installed_version("sidecypher"),
        "python": platform.python_version(),
        "neo4j": {lane: load_lock(lane).neo4j for lane in ("lts", "current")},
        "core": hashlib.sha256(CORE_JAR.read_bytes()).hexdigest() if CORE_JAR.is_file() else None,
        # Without the failed modules the hash would be that of another installation.
        "catalogue": None if loaded.failures else loaded.registry.catalogue.hash,
    }
