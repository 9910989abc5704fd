"""Preparation of a start of Neo4j: its jars, and a plugin that fits the procedures."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from sidecypher.cli.output import download_bar, notes, results_alone, working
from sidecypher.host.settings import Settings
from sidecypher.loading.loader import Loaded, load
from sidecypher.runtime.bootcheck import boot_check
from sidecypher.runtime.download import MAVEN_CENTRAL, fetch
from sidecypher.runtime.errors import ServerFailed
from sidecypher.runtime.installation import Installation
from sidecypher.runtime.java import Java, Javas
from sidecypher.runtime.lockfile import load_api_lock, load_compiler_lock, load_lock
from sidecypher_plugin.builder import CORE_JAR, build, is_current, read_inputs
from sidecypher_plugin.compiler import Compiler, eclipse, javac

PLUGIN_FILE = "sidecypher.jar"


def fetch_api_jars(settings: Settings) -> Installation:
    """Fetch the few jars that plugins are compiled against, and check them.

    Raises:
        DownloadFailed: A jar cannot be fetched.
    """
    return fetch(load_api_lock(), settings.cache_dir, settings.maven_url or MAVEN_CENTRAL)


def fetch_jars(settings: Settings) -> Installation:
    """Fetch the missing jars of Neo4j, and check all of them.

    Raises:
        DownloadFailed: A jar cannot be fetched.
    """
    fetch_api_jars(settings)
    mirror = settings.maven_url or MAVEN_CENTRAL
    with download_bar("Fetching Neo4j") as on_bytes:
        return fetch(load_lock(settings.lane), settings.cache_dir, mirror, on_bytes)


@dataclass(frozen=True, slots=True)
class Jdk:
    """The Java that runs Neo4j, and a compiler for the plugin."""

    java: Java
    compiler: Compiler


def find_jdk(settings: Settings) -> Jdk:
    """Find the Java of the lane and a compiler, before anything else is fetched.

    If the machine has no compiler, Eclipse's is fetched, which the Java of the lane runs.

    Raises:
        JavaNotFound: There is no Java.
        WrongJava: There are only other versions.
        DownloadFailed: The compiler cannot be fetched.
    """
    javas = Javas()
    java = javas.find(load_lock(settings.lane).java)
    return Jdk(java, find_compiler(javas, java, partial(_fetch_compiler, settings)))


def find_compiler(javas: Javas, java: Java, eclipse_jar: Callable[[], Path]) -> Compiler:
    """Return the compiler of a JDK, or else Eclipse's.

    Args:
        javas: Javas of the machine.
        java: Java that runs Eclipse's compiler; it need not be a JDK.
        eclipse_jar: Returns the jar of Eclipse's compiler; called only if no JDK has one.
    """
    program = javas.javac()
    return javac(program) if program else eclipse(java.executable, eclipse_jar())


def _fetch_compiler(settings: Settings) -> Path:
    mirror = settings.maven_url or MAVEN_CENTRAL
    with download_bar("Fetching a Java compiler") as on_bytes:
        fetched = fetch(load_compiler_lock(), settings.cache_dir, mirror, on_bytes)
    [jar] = fetched.jars("compiler")
    return jar


def load_procedures(settings: Settings) -> Loaded:
    """Load all procedures, and print warnings about their modules."""
    with results_alone(), working("Loading procedures"):
        loaded = load(settings.procedures)
    for failure in loaded.failures:
        notes.print(f"warning: `{failure.module}` is left out: {failure.reason}", markup=False)
    for warning in loaded.warnings:
        notes.print(f"warning: `{warning.module}`: {warning.reason}", markup=False)
    return loaded


def plugin_jar(settings: Settings) -> Path:
    """Return the path from which the embedded Neo4j loads the plugin."""
    return settings.home / "neo4j" / "plugins" / PLUGIN_FILE


def install_plugin(
    settings: Settings, loaded: Loaded, destination: Path | None = None, *, check: bool
) -> bool:
    """Write a plugin for the procedures to Neo4j's folder of plugins, or elsewhere.

    Returns:
        Whether it was built; a current one is kept.

    Raises:
        SidecypherError: Java or a jar is missing, or the plugin does not work.
    """
    # Before the download of 140 MB, which is useless without a Java.
    jdk = find_jdk(settings)
    # All jars of Neo4j are needed only if it starts, in the home or for the check.
    starts = check or destination is None
    installation = fetch_jars(settings) if starts else fetch_api_jars(settings)
    if starts:
        _archive_classes(installation, jdk.java)
    if destination is None:
        destination = plugin_jar(settings)
        # Write access to these folders means running code in Neo4j.
        for folder in (settings.home, settings.home / "neo4j", destination.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    else:
        destination.parent.mkdir(parents=True, exist_ok=True)
    return build_plugin(loaded, installation, jdk, destination, check=check)


def _archive_classes(installation: Installation, java: Java) -> None:
    """Make starts of Neo4j faster from now on; if that fails, they are as slow as before."""
    if java.can_archive_classes and not installation.class_archive(java).exists():
        # With the driver, which no later start needs.
        from sidecypher.runtime.class_archive import write_class_archive  # noqa: PLC0415

        with (
            working("Preparing Neo4j for faster starts, once", kept=True),
            suppress(ServerFailed, OSError),
        ):
            write_class_archive(installation, java)


def build_plugin(
    loaded: Loaded, installation: Installation, jdk: Jdk, destination: Path, *, check: bool
) -> bool:
    """Build the plugin unless the existing one is current.

    Args:
        loaded: The procedures of the plugin.
        installation: The jars to compile against, and those of the temporary server.
        jdk: The compiler, and the Java of the temporary server.
        destination: The jar; with `check`, replaced only if Neo4j has started with the new one.
        check: Whether to start a temporary Neo4j with the new jar first.

    Returns:
        Whether it was built.

    Raises:
        SidecypherError: It cannot be compiled, or Neo4j does not start with it.
    """
    catalogue = loaded.registry.catalogue
    inputs = read_inputs(catalogue, core_jar=CORE_JAR, compiler=jdk.compiler)
    if is_current(destination, inputs):
        return False
    building = f"Building the plugin for {len(loaded.registry)} procedures"
    # A folder next to it, since Neo4j would load any jar in the folder of plugins itself.
    with TemporaryDirectory(prefix=".sidecypher-", dir=destination.parent) as folder:
        draft = Path(folder, destination.name)
        with working(building, kept=True):
            build(
                catalogue,
                core_jar=CORE_JAR,
                classpath=installation.api_jars(),
                compiler=jdk.compiler,
                destination=draft,
            )
        if check:
            with working("Starting a temporary Neo4j with it", kept=True):
                boot_check(
                    draft,
                    {entry.name for entry in catalogue.procedures},
                    {entry.name for entry in catalogue.functions},
                    installation=installation,
                    java=jdk.java,
                )
        draft.replace(destination)
    return True
