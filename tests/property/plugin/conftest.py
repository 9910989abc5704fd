"""What the plugin's properties are tried on: a JDK, the core's jar, Neo4j's jars."""

import os
from pathlib import Path

import pytest
from platformdirs import user_cache_path

from sidecypher.runtime.download import fetch
from sidecypher.runtime.java import find_javac
from sidecypher.runtime.lockfile import load_lock
from sidecypher_plugin import CORE_JAR


@pytest.fixture(scope="session")
def neo4j_classpath() -> list[Path]:
    """The jars of the Neo4j that the plugin is for."""
    cache = os.environ.get("SIDECYPHER_CACHE_DIR") or user_cache_path("sidecypher")
    return fetch(load_lock("lts"), Path(cache)).jars("lib")


@pytest.fixture(scope="session")
def javac() -> Path:
    """The Java compiler of this machine."""
    return find_javac()


@pytest.fixture(scope="session")
def core_jar() -> Path:
    """The real core; a missing one is a failure."""
    if not CORE_JAR.is_file():
        pytest.fail("core.jar is missing: run `make core`")
    return CORE_JAR
