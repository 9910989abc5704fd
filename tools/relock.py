"""Write the lock files of the lanes again, with Maven: `python tools/relock.py`.

A maintainer runs this after changing a version below; users never need Maven for the runtime.
"""

import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree as ET
from zipfile import ZipFile

from sidecypher.runtime.lockfile import Jar, Lock, Place

_FOLDER = Path(__file__).parents[1] / "bridge/sidecypher/runtime/lock"
_ENTRY_POINT = "META-INF/services/org.neo4j.server.startup.EntryPoint"
_LISTED = re.compile(
    r"^\s+(?P<group>[\w.-]+):(?P<artifact>[\w.-]+):jar:"
    r"(?:(?P<classifier>[\w.-]+):)?(?P<version>[\w.-]+):(?:compile|runtime)\b",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Lane:
    """Components of a lane, before Maven resolves them.

    Attributes:
        name: Name of the lane and of its lock file.
        neo4j: Version of Neo4j.
        java: Major versions of Java it runs on, best first.
        lib: Artifacts that are resolved with all their dependencies.
        plugins: Artifacts without dependencies, because `lib` has those they need.
        compiler: The compiler for machines without a JDK; it has no dependencies.
        flags: Options of the JVM in addition to those of every lane.
        settings: Settings of `neo4j.conf` in addition to those of every lane.
    """

    name: str
    neo4j: str
    java: tuple[int, ...]
    lib: tuple[str, ...]
    plugins: tuple[str, ...] = ()
    compiler: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)

    def artifacts(self) -> dict[Place, tuple[str, ...]]:
        """Return the artifacts by their place, without places that have none."""
        placed: dict[Place, tuple[str, ...]] = {
            "compiler": self.compiler,
            "lib": self.lib,
            "plugins": self.plugins,
        }
        return {place: artifacts for place, artifacts in placed.items() if artifacts}


LTS = Lane(
    name="lts",
    neo4j="5.26.29",
    java=(17, 21),
    lib=(
        "org.neo4j:neo4j:5.26.29",
        "org.neo4j.app:neo4j-server:5.26.29",
        "org.neo4j.client:neo4j-browser:5.24.0",
    ),
    plugins=(
        "com.jayway.jsonpath:json-path:2.9.0",
        "com.opencsv:opencsv:5.7.1",
        "net.minidev:accessors-smart:2.5.0",
        "net.minidev:json-smart:2.5.0",
        "org.hdrhistogram:HdrHistogram:2.1.9",
        "org.neo4j.procedure:apoc-common:5.26.19",
        "org.neo4j.procedure:apoc-core:5.26.19",
        "org.roaringbitmap:RoaringBitmap:0.7.17",
    ),
    # It must run on every Java of every lane.
    compiler=("org.eclipse.jdt:ecj:3.40.0",),
    # Otherwise each stop waits 5 s for connections that are already closed.
    settings={"internal.dbms.bolt.netty_server_shutdown_quiet_period": "0"},
)

CURRENT = Lane(
    name="current",
    neo4j="2026.08.1",
    java=(25,),
    lib=(
        "org.neo4j:neo4j:2026.08.1",
        "org.neo4j.app:neo4j-server:2026.08.1",
        "org.neo4j.client:neo4j-browser:5.24.0",
    ),
    # No plugins: no APOC of this version is on Maven Central.
    flags=(
        "--add-opens=java.base/java.util.concurrent=ALL-UNNAMED",
        "--sun-misc-unsafe-memory-access=allow",
        "-Dorg.neo4j.shaded.lucene9.vectorization.upperJavaFeatureVersion=25",
    ),
    settings={
        "internal.dbms.bolt.netty_server_shutdown_quiet_period_duration": "0s",
        # Otherwise Neo4j announces itself over UDP and to a service of its vendor.
        "dbms.fleet_manager.enabled": "false",
        "server.fleet_discovery.enabled": "false",
        "server.http.x_forward.enabled": "false",
    },
)


def relock(lane: Lane, target: Path, *, mvn: str = "mvn") -> Lock:
    """Resolve a lane with Maven, hash its jars and write its lock file.

    Args:
        lane: The lane to resolve.
        target: The lock file to write; the same lane results in the same bytes.
        mvn: Maven's command.

    Raises:
        RuntimeError: If Maven is not installed, or cannot resolve an artifact.
    """
    with tempfile.TemporaryDirectory() as folder:
        jars = [
            jar
            for place, artifacts in lane.artifacts().items()
            for jar in _resolve(artifacts, place, Path(folder, place), mvn)
        ]
        main_class = _main_class(Path(folder, "lib", "jars", f"neo4j-{lane.neo4j}.jar"))
    jars.sort(key=lambda jar: (jar.place, jar.artifact))
    lock = Lock(
        lane.name, lane.neo4j, main_class, lane.java, lane.flags, dict(lane.settings), tuple(jars)
    )
    target.write_bytes(lock.to_json())
    return lock


def _resolve(artifacts: Sequence[str], place: Place, folder: Path, mvn: str) -> list[Jar]:
    folder.mkdir()
    folder.joinpath("pom.xml").write_text(pom(artifacts), encoding="utf-8")
    listing = folder / "listing.txt"
    _maven(
        mvn,
        folder,
        "dependency:list",
        "dependency:copy-dependencies",
        "-DincludeScope=runtime",
        f"-DexcludeTransitive={'false' if place == 'lib' else 'true'}",
        f"-DoutputFile={listing}",
        f"-DoutputDirectory={folder / 'jars'}",
    )
    found = [
        ":".join(filter(None, match.group("group", "artifact", "version", "classifier")))
        for match in _LISTED.finditer(listing.read_text(encoding="utf-8"))
    ]
    return [_hashed(artifact, place, folder / "jars") for artifact in found]


def _maven(mvn: str, folder: Path, *arguments: str) -> None:
    command = shutil.which(mvn)
    if command is None:
        raise RuntimeError("Maven is not on the PATH. Install Maven 3.8 or newer.")
    done = subprocess.run(
        [command, "-B", "-q", "-Dstyle.color=never", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        output = "\n".join(done.stdout.splitlines()[-20:])
        raise RuntimeError(f"Maven ended with exit code {done.returncode}:\n{output}")


def pom(artifacts: Sequence[str]) -> str:
    """Return a pom with these dependencies, each `group:artifact:version`.

    Example:
        >>> "<artifactId>neo4j</artifactId>" in pom(["org.neo4j:neo4j:5.26.29"])
        True
    """
    project = ET.Element("project", xmlns="http://maven.apache.org/POM/4.0.0")
    own = {"modelVersion": "4.0.0", "groupId": "io.sidecypher", "artifactId": "lock"}
    for name, text in (own | {"version": "1"}).items():
        ET.SubElement(project, name).text = text
    dependencies = ET.SubElement(project, "dependencies")
    for artifact in artifacts:
        dependency = ET.SubElement(dependencies, "dependency")
        coordinates = zip(("groupId", "artifactId", "version"), artifact.split(":"), strict=True)
        for name, text in coordinates:
            ET.SubElement(dependency, name).text = text
    return ET.tostring(project, encoding="unicode")


def _hashed(artifact: str, place: Place, folder: Path) -> Jar:
    unhashed = Jar(artifact, place, sha256="", size=0)
    data = folder.joinpath(unhashed.file_name).read_bytes()
    return Jar(artifact, place, hashlib.sha256(data).hexdigest(), len(data))


def _main_class(neo4j_jar: Path) -> str:
    with ZipFile(neo4j_jar) as archive:
        return archive.read(_ENTRY_POINT).decode().strip()


def main() -> None:
    """Write the lock files of both lanes into the package."""
    for lane in (LTS, CURRENT):
        target = _FOLDER / f"{lane.name}.json"
        lock = relock(lane, target)
        size = sum(jar.size for jar in lock.jars) / 1e6
        sys.stdout.write(f"{target.name}: {len(lock.jars)} jars, {size:.1f} MB\n")


if __name__ == "__main__":
    main()
