"""The jars of Neo4j, a compiler and the Java core: what building a plugin needs."""

import os
import subprocess

import pytest

from sidecypher.host.settings import load_settings
from sidecypher.runtime.download import fetch
from sidecypher.runtime.errors import RuntimeFailure
from sidecypher.runtime.java import Javas
from sidecypher.runtime.lockfile import load_compiler_lock, load_lock
from sidecypher_plugin import compiler
from sidecypher_plugin.builder import CORE_JAR


def pytest_configure():
    # The JVMs of tests are gone before they have earned what optimizing their code costs. What they
    # compile without that would have room for 48 MB only, which a Neo4j that lives through many
    # tests fills: it then throws code away and compiles it again, all the time. JVMs of soaks are
    # to be as users run them: `make soak` sets it to nothing.
    os.environ.setdefault(
        "JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
    )


@pytest.fixture(scope="session")
def installation():
    """The jars of the LTS lane, fetched once into the user's cache."""
    return fetch(load_lock(), load_settings({}).cache_dir)


@pytest.fixture(scope="session")
def java(installation):
    """A Java that Neo4j runs on."""
    return Javas().find(installation.lock.java)


@pytest.fixture(scope="session")
def current_java():
    """A Java that the current lane's Neo4j runs on; without one the tests skip, but not on CI."""
    try:
        return Javas().find(load_lock("current").java)
    except RuntimeFailure as error:
        # No CI may pass without the second lane.
        if os.environ.get("CI"):
            raise
        pytest.skip(f"the current lane is not tested: {error}")


@pytest.fixture(scope="session")
def current_installation():
    """The jars of the current lane."""
    return fetch(load_lock("current"), load_settings({}).cache_dir)


@pytest.fixture(scope="session")
def javac():
    """The `javac` of a JDK."""
    program = Javas().javac()
    assert program, "install a JDK, 17 or newer"
    return program


@pytest.fixture(scope="session")
def jdk_compiler(javac):
    """The Java compiler of a JDK."""
    return compiler.javac(javac)


@pytest.fixture(scope="session")
def eclipse_compiler(java):
    """The compiler for machines without a JDK, run by the Java of the LTS lane."""
    [jar] = fetch(load_compiler_lock(), load_settings({}).cache_dir).jars("compiler")
    return compiler.eclipse(java.executable, jar)


@pytest.fixture(scope="session")
def core_jar():
    """The Java core; `make core` builds it."""
    assert CORE_JAR.is_file(), "run `make core` first"
    return CORE_JAR


@pytest.fixture(scope="session")
def neo4j_classpath(installation):
    """Neo4j's own jars, to compile stubs against and to run its classes."""
    return installation.jars("lib")


@pytest.fixture(scope="session")
def run_java(javac):
    """Runs a Java class and gives the lines it prints."""

    def run(classpath, *arguments, lines=()):
        path = os.pathsep.join(map(str, classpath))
        finished = subprocess.run(
            [javac.with_name("java"), "-XX:TieredStopAtLevel=1", "-cp", path, *arguments],
            input="".join(f"{line}\n" for line in lines),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert finished.returncode == 0, finished.stderr
        return finished.stdout.splitlines()

    return run
