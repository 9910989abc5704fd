"""Runs that have ended, kept in files instead of the graph."""

from sidecypher_procedures.runs.archives.procedures import archive, restore, retain

__all__ = ["archive", "restore", "retain"]
