"""Build the plugin jar that Neo4j loads from a catalogue."""

import hashlib
import os
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from sidecypher.protocol.catalogue import Catalogue
from sidecypher_plugin.compiler import Compiler
from sidecypher_plugin.errors import CoreJarMissing, PluginBuildError
from sidecypher_plugin.generator import render
from sidecypher_plugin.jar import read_core, write_jar

CORE_JAR: Final = Path(__file__).with_name("core.jar")
"""Path where `make core` puts the Java core."""

_CATALOGUE: Final = "META-INF/sidecypher/catalogue.json"
_INPUTS: Final = "META-INF/sidecypher/build.json"
_READABLE_BY_ALL: Final = 0o644


class BuildInputs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All that determines a plugin's bytes: equal inputs make equal jars.

    Attributes:
        catalogue: Hash of the catalogue.
        core: SHA-256 of the core's jar.
        generator: SHA-256 of this package's modules and templates.
        compiler: Name and version of the compiler.
    """

    catalogue: str
    core: str
    generator: str
    compiler: str


_decode: Final = msgspec.json.Decoder(BuildInputs).decode


class BuiltPlugin(msgspec.Struct, frozen=True):
    """A plugin jar that was just built.

    Attributes:
        path: The jar.
        sha256: Hash of its bytes.
        inputs: Inputs it was built from.
    """

    path: Path
    sha256: str
    inputs: BuildInputs


def read_inputs(catalogue: Catalogue, *, core_jar: Path, compiler: Compiler) -> BuildInputs:
    """Return the inputs of a plugin that is built now.

    Raises:
        CoreJarMissing: The core was not built yet.
        CompilerMissing: The compiler cannot be run.
    """
    if not core_jar.is_file():
        raise CoreJarMissing("The Java core, `core.jar`, is missing")
    return BuildInputs(
        catalogue=catalogue.hash,
        core=_sha256(core_jar.read_bytes()),
        generator=_generator_digest(),
        compiler=compiler.version(),
    )


def is_current(jar: Path, inputs: BuildInputs) -> bool:
    """Return whether a jar is undamaged and was built from these inputs."""
    try:
        with zipfile.ZipFile(jar) as archive:
            stored = _decode(archive.read(_INPUTS))
            return stored == inputs and archive.testzip() is None
    except (OSError, KeyError, zipfile.BadZipFile, zlib.error, msgspec.DecodeError):
        return False


def read_catalogue(jar: Path) -> Catalogue:
    """Return the catalogue that a plugin was built from.

    Raises:
        PluginBuildError: The jar is damaged, or is not a plugin.
        CatalogueError: Its catalogue is of another version.
    """
    try:
        with zipfile.ZipFile(jar) as archive:
            text = archive.read(_CATALOGUE)
    except (OSError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise PluginBuildError(
            f"`{jar.name}` is damaged, or no plugin of sidecypher's",
            hint="Build it again with `sidecypher plugin build`.",
        ) from error
    return Catalogue.from_json(text)


def build(
    catalogue: Catalogue,
    *,
    core_jar: Path,
    classpath: Sequence[Path],
    compiler: Compiler,
    destination: Path,
) -> BuiltPlugin:
    """Build the plugin jar and put it in its place in one step.

    Args:
        catalogue: The procedures that the plugin offers.
        core_jar: The Java core, usually `CORE_JAR`.
        classpath: The Neo4j API jars that stubs and core are compiled against.
        compiler: The Java compiler.
        destination: The jar to write or replace; untouched when the build fails.

    Raises:
        UnfitProcedure: An entry of the catalogue has a name that is not allowed in Java.
        CoreJarMissing: The core was not built yet.
        CompilerMissing: The compiler cannot be run.
        PluginBuildError: The compiler refused the stubs, or a jar cannot be read or written.
    """
    sources = render(catalogue)
    if not sources:
        raise PluginBuildError(
            "The catalogue holds no procedure", hint="Write one, or see why none was loaded."
        )
    inputs = read_inputs(catalogue, core_jar=core_jar, compiler=compiler)
    _check_classpath(classpath)
    try:
        core = read_core(core_jar)
    except (zipfile.BadZipFile, zlib.error) as error:
        raise PluginBuildError(
            "The Java core, `core.jar`, is damaged", hint="Run `make core` again."
        ) from error
    with tempfile.TemporaryDirectory(prefix="sidecypher-plugin-") as folder:
        stubs = compiler.compile(sources, classpath=[core_jar, *classpath], folder=Path(folder))
    entries = {
        **core,
        **stubs,
        _CATALOGUE: catalogue.to_json(),
        _INPUTS: msgspec.json.encode(inputs),
    }
    _install(entries, destination)
    return BuiltPlugin(destination, _sha256(destination.read_bytes()), inputs)


def _check_classpath(classpath: Iterable[Path]) -> None:
    missing = [jar.name for jar in classpath if not jar.is_file()]
    if missing:
        raise PluginBuildError(
            f"Neo4j's `{missing[0]}` is missing",
            hint="Fetch the jars again with `sidecypher up`.",
            details={"missing": missing},
        )


def _install(entries: dict[str, bytes], destination: Path) -> None:
    """Write a temporary file next to the jar and rename it; Neo4j ignores the suffix `.tmp`."""
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(
            dir=destination.parent, prefix=f".{destination.name}.", suffix=".tmp"
        )
        unfinished = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as file:
                write_jar(file, entries)
                file.flush()
                os.fsync(file.fileno())
            unfinished.chmod(_READABLE_BY_ALL)
            unfinished.replace(destination)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise PluginBuildError(
            f"`{destination.name}` cannot be written: {error.strerror}",
            hint="Check the folder's permissions and the free space.",
        ) from error


def _generator_digest() -> str:
    package = Path(__file__).parent
    parts = [*sorted(package.glob("*.py")), *sorted(package.glob("templates/*.j2"))]
    return _sha256(b"\0".join(part.read_bytes() for part in parts))


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
