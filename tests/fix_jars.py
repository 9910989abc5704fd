"""The jars of Neo4j, a compiler and the Java core: what building a plugin needs."""

import pytest

from sidecypher.runtime.download import fetch
from sidecypher.runtime.java import find_java, find_javac
from sidecypher.runtime.lockfile import load_lock
from sidecypher.settings import load_settings
from sidecypher_plugin.builder import CORE_JAR


@pytest.fixture(scope="session")
def installation():
    """The jars of the LTS lane, fetched once into the user's cache."""
    return fetch(load_lock(), load_settings({}).cache_dir)


@pytest.fixture(scope="session")
def java(installation):
    """A Java that Neo4j runs on."""
    return find_java(installation.lock.java)


@pytest.fixture(scope="session")
def javac():
    """A Java compiler."""
    return find_javac()


@pytest.fixture(scope="session")
def core_jar():
    """The Java core; `make core` builds it."""
    assert CORE_JAR.is_file(), "run `make core` first"
    return CORE_JAR


@pytest.fixture(scope="session")
def neo4j_classpath(installation):
    """Neo4j's own jars, to compile stubs against."""
    return installation.jars("lib")
