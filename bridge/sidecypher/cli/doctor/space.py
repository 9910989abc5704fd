"""Room: on the disks of the home and of the cache, and in memory."""

import os
import shutil
from pathlib import Path
from typing import Final

import psutil

from sidecypher.cli.doctor.findings import Finding, error, ok, warn
from sidecypher.cli.doctor.subject import Subject

_MIB: Final = 2**20
_LEAST_DISK: Final = 200 * _MIB
"""A graph that is filled grows by more in a minute; below this Neo4j soon cannot write its log."""

_ENOUGH_DISK: Final = 2048 * _MIB
_START_MEMORY: Final = 1024 * _MIB
"""What Neo4j's heap and page cache, its own code, and a sidecar take together."""

_SPARE_MEMORY: Final = 256 * _MIB


def look_at_home(subject: Subject) -> Finding:
    """Tell whether the home can be written, and how much room it has."""
    return _room(subject.settings.home, "home", "Set SIDECYPHER_HOME or `--home` to another one.")


def look_at_cache(subject: Subject) -> Finding:
    """Tell whether the cache of jars can be written, and how much room it has."""
    return _room(subject.settings.cache_dir, "cache", "Set SIDECYPHER_CACHE_DIR to another one.")


def look_at_memory(subject: Subject) -> Finding:
    """Tell how much memory is free, for a start or beside what runs."""
    free = psutil.virtual_memory().available
    wanted = _SPARE_MEMORY if subject.runs else _START_MEMORY
    told = f"{free // _MIB} MiB are free"
    if free < wanted:
        purpose = "beside what runs" if subject.runs else "for Neo4j and a sidecar"
        return warn(f"{told}, {wanted // _MIB} MiB are wanted {purpose}", "End other programs.")
    return ok(told)


def _room(folder: Path, name: str, way_out: str) -> Finding:
    # The folder itself may not be there yet.
    there = next(each for each in (folder, *folder.parents) if each.exists())
    if not there.is_dir():
        return error(f"the {name} is below a file, so it cannot be made", way_out)
    if not os.access(there, os.W_OK | os.X_OK):
        return error(f"the {name} cannot be written", way_out)
    free = shutil.disk_usage(there).free
    told = f"{free // _MIB} MiB are free" + ("" if there == folder else "; it is not made yet")
    if free < _LEAST_DISK:
        return error(told, f"Make room on its disk. {way_out}")
    if free < _ENOUGH_DISK:
        return warn(told, f"Make room on its disk. {way_out}")
    return ok(told)
