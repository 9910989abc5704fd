"""Jar files whose bytes depend only on their content."""

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Final

_MANIFEST: Final = "META-INF/MANIFEST.MF"
_MANIFEST_TEXT: Final = b"Manifest-Version: 1.0\r\nCreated-By: sidecypher\r\n\r\n"
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
_UNIX: Final = 3
_FILE_MODE: Final = 0o100644
_LEVEL: Final = 9
_SIGNATURE_SUFFIXES: Final = (".SF", ".RSA", ".DSA", ".EC")


def read_core(jar: Path) -> dict[str, bytes]:
    """Return the files of the core's jar that belong in a plugin, by name.

    The manifest, module descriptors, classes for other Java releases, signatures and Maven's files
    are left out: they are wrong for a plugin, or change how Neo4j's class loader reads it.

    Raises:
        zipfile.BadZipFile: The file is not a jar, or it is damaged.
    """
    with zipfile.ZipFile(jar) as archive:
        return {
            name: archive.read(name)
            for name in archive.namelist()
            if not name.endswith("/") and _belongs_in_plugin(name)
        }


def _belongs_in_plugin(name: str) -> bool:
    return not (
        name == _MANIFEST
        or name.rpartition("/")[2] == "module-info.class"
        or name.startswith(("META-INF/versions/", "META-INF/maven/"))
        or (name.startswith("META-INF/") and name.endswith(_SIGNATURE_SUFFIXES))
    )


def write_jar(target: IO[bytes], entries: Mapping[str, bytes]) -> None:
    """Write a jar of these entries: manifest first, then by name, all with one fixed time."""
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in [(_MANIFEST, _MANIFEST_TEXT), *sorted(entries.items())]:
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.create_system = _UNIX
            entry.external_attr = _FILE_MODE << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED, _LEVEL)
