"""The downloaded jars of a lane, and their paths in the cache."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from sidecypher.runtime.java import Java
from sidecypher.runtime.lockfile import Jar, Lock, Place, load_api_lock


@dataclass(frozen=True, slots=True)
class Installation:
    """The verified jars of one lane in the cache.

    Attributes:
        folder: The cache folder, shared by all homes and lanes.
    """

    lock: Lock
    folder: Path

    @property
    def jar_folder(self) -> Path:
        """The folder that holds every jar."""
        return self.folder / "jars"

    def path(self, jar: Jar) -> Path:
        """Return the path of one jar in the cache, downloaded or not."""
        return self.jar_folder / jar.file_name

    def jars(self, place: Place) -> list[Path]:
        """Return the jars of one place, in the order of the lock file."""
        return [self.path(jar) for jar in self.lock.jars if jar.place == place]

    def api_jars(self) -> list[Path]:
        """Return the jars that plugins are compiled against, which are the same in all lanes."""
        return [self.path(jar) for jar in load_api_lock().jars]

    def class_archive(self, java: Java) -> Path:
        """Return the path of the archive of Neo4j's classes for a Java, written or not."""
        build = java.executable.stat()
        parts = (self.lock.to_json(), java.home, build.st_size, build.st_mtime_ns)
        digest = hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
        return self.folder / f"classes-{self.lock.lane}-{digest}.jsa"
