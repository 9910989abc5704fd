"""The lock file of a lane: every jar of an embedded Neo4j, by name, hash and size."""

from importlib.resources import files
from typing import Final, Literal

import msgspec

Place = Literal["compiler", "lib", "plugins"]

_API: Final = frozenset(
    "neo4j-common neo4j-gql-status neo4j-graphdb-api neo4j-kernel-api neo4j-logging "
    "neo4j-procedure-api".split()
)


class Jar(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One jar of a lane.

    Attributes:
        artifact: Maven coordinates, ``group:artifact:version`` or with a fourth part, the
            classifier.
        place: ``lib`` for Neo4j itself, ``plugins`` for jars with procedures, ``compiler`` for the
            compiler of plugins where there is no JDK.
        sha256: Hash of the jar, 64 lower-case hex digits.
        size: Bytes.
    """

    artifact: str
    place: Place
    sha256: str
    size: int

    @property
    def file_name(self) -> str:
        """Name of the file, such as ``neo4j-5.26.29.jar``."""
        _group, artifact, *version_and_classifier = self.artifact.split(":")
        return "-".join([artifact, *version_and_classifier]) + ".jar"

    @property
    def path(self) -> str:
        """Path below the root of any Maven repository."""
        group, artifact, version, *_ = self.artifact.split(":")
        return f"{group.replace('.', '/')}/{artifact}/{version}/{self.file_name}"


class Lock(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All jars of one lane, and the settings to start them.

    Attributes:
        lane: Name of the lane, such as ``lts``.
        java: Major versions of Java that the lane runs on, best first.
        flags: Flags of this lane's JVM in addition to those of all lanes.
        settings: Settings of this lane's `neo4j.conf` in addition to those of all lanes.
        jars: Sorted by place and artifact.
    """

    lane: str
    neo4j: str
    main_class: str
    java: tuple[int, ...]
    flags: tuple[str, ...]
    settings: dict[str, str]
    jars: tuple[Jar, ...]

    @classmethod
    def from_json(cls, data: bytes) -> "Lock":
        """Parse a lock file.

        Raises:
            msgspec.ValidationError: If a field is missing, unknown or of another type.
        """
        return _decode(data)

    def only(self, *places: Place) -> "Lock":
        """Return the same lock with only the jars of these places."""
        jars = tuple(jar for jar in self.jars if jar.place in places)
        return msgspec.structs.replace(self, jars=jars)

    def to_json(self) -> bytes:
        """Return the lock as JSON with one jar a line, so that a new version changes one line."""
        head = ("lane", "neo4j", "main_class", "java", "flags", "settings")
        fields = [f'"{name}": {_text(getattr(self, name))}' for name in head]
        jars = ",\n    ".join(_text(jar) for jar in self.jars)
        body = ",\n  ".join([*fields, f'"jars": [\n    {jars}\n  ]'])
        return f"{{\n  {body}\n}}\n".encode()


_decode: Final = msgspec.json.Decoder(Lock).decode


def load_lock(lane: str = "lts") -> Lock:
    """Return the jars of a lane's server.

    Example:
        >>> load_lock("lts").java
        (17, 21)
    """
    return _read(lane).only("lib", "plugins")


def load_api_lock() -> Lock:
    """Return the jars that plugins of all lanes are compiled against.

    They are those of the LTS lane. The later lane runs plugins compiled against the earlier one,
    but only its own Java can read its jars.

    Example:
        >>> load_api_lock().neo4j == load_lock("lts").neo4j
        True
    """
    lock = load_lock("lts")
    jars = tuple(jar for jar in lock.jars if jar.artifact.split(":")[1] in _API)
    return msgspec.structs.replace(lock, jars=jars)


def load_compiler_lock() -> Lock:
    """Return the jar of the compiler for machines without a JDK, which is the same in all lanes.

    Example:
        >>> [jar.file_name for jar in load_compiler_lock().jars]
        ['ecj-3.40.0.jar']
    """
    return _read("lts").only("compiler")


def _read(lane: str) -> Lock:
    return Lock.from_json(files(__package__).joinpath("lock", f"{lane}.json").read_bytes())


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()
