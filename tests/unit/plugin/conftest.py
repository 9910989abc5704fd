"""What the plugin's tests build with: a compiler, the core's jar, Neo4j's jars."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from platformdirs import user_cache_path

from sidecypher.catalogue import (
    ColumnEntry,
    Mode,
    ParameterEntry,
    ProcedureEntry,
    signature_of,
)
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


@pytest.fixture(scope="session")
def entry() -> Callable[..., ProcedureEntry]:
    """Makes a procedure's entry with the signature that belongs to it."""

    def make(
        name: str = "kg.score",
        *,
        mode: Mode = "READ",
        description: str = "",
        timeout_ms: int = 30_000,
        parameters: tuple[ParameterEntry, ...] = (),
        columns: tuple[ColumnEntry, ...] = (ColumnEntry("value", "STRING"),),
    ) -> ProcedureEntry:
        signature = signature_of(name, mode, parameters, columns)
        return ProcedureEntry(name, mode, description, timeout_ms, signature, parameters, columns)

    return make
