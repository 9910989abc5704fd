"""What must be there before Neo4j starts: its jars, and a plugin that fits the procedures."""

import contextlib
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from sidecypher.cli.output import download_bar, notes
from sidecypher.loading import Loaded, load
from sidecypher.runtime.bootcheck import boot_check
from sidecypher.runtime.download import MAVEN_CENTRAL, fetch
from sidecypher.runtime.installation import Installation
from sidecypher.runtime.java import Java, find_java, find_javac
from sidecypher.runtime.lockfile import load_lock
from sidecypher.settings import Settings
from sidecypher_plugin.builder import CORE_JAR, build, is_current, read_inputs

PLUGIN_FILE = "sidecypher.jar"


def fetch_jars(settings: Settings) -> Installation:
    """Fetch the jars of Neo4j that are missing, and check all of them.

    Raises:
        DownloadFailed: A jar cannot be had.
    """
    with download_bar("Fetching Neo4j") as on_bytes:
        return fetch(load_lock(), settings.cache_dir, settings.maven_url or MAVEN_CENTRAL, on_bytes)


def java_for(installation: Installation) -> Java:
    """Return a Java that runs these jars.

    Raises:
        JavaNotFound: There is none.
        WrongJava: There are only others.
    """
    return find_java(installation.lock.java)


def load_procedures(settings: Settings) -> Loaded:
    """Load all procedures; what their modules print goes to standard error."""
    with contextlib.redirect_stdout(sys.stderr):
        loaded = load(settings.procedures)
    for failure in loaded.failures:
        notes.print(f"warning: `{failure.module}` is left out: {failure.reason}", markup=False)
    return loaded


def build_plugin(
    loaded: Loaded, installation: Installation, java: Java, destination: Path, *, check: bool
) -> bool:
    """Build the plugin unless the one that is there fits.

    Args:
        loaded: The procedures it shall offer.
        installation: The jars to compile against.
        java: The Java of the throw-away server.
        destination: The jar; replaced only by one that Neo4j has started with.
        check: Whether to start a throw-away Neo4j with the new jar first.

    Returns:
        Whether it was built.

    Raises:
        SidecypherError: It cannot be compiled, or Neo4j does not start with it.
    """
    javac = find_javac()
    catalogue = loaded.registry.catalogue
    inputs = read_inputs(catalogue, core_jar=CORE_JAR, javac=javac)
    if is_current(destination, inputs):
        return False
    notes.print(f"Building the plugin for {len(loaded.registry)} procedures")
    # A folder beside it, since Neo4j would load any jar that lies in the folder of plugins.
    with TemporaryDirectory(prefix=".sidecypher-", dir=destination.parent) as folder:
        draft = Path(folder, destination.name)
        build(
            catalogue,
            core_jar=CORE_JAR,
            classpath=installation.jars("lib"),
            javac=javac,
            destination=draft,
        )
        if check:
            notes.print("Starting a throw-away Neo4j with it")
            names = {entry.name for entry in catalogue.procedures}
            boot_check(draft, names, installation=installation, java=java)
        draft.replace(destination)
    return True
