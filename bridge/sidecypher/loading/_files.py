"""Detection of files that have changed since they were imported."""

import ast
import contextlib
import importlib.util
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

_DECORATORS: Final = {"procedure", "function", "webhook", "step", "background", "panel"}

Stamp = Mapping[str, tuple[int, int]]
"""Modification time in nanoseconds and size of each file, by path."""


def stamp_of(root: Path) -> Stamp:
    """Return the stamp of a file, or of all files below a folder except hidden and bytecode."""
    found: dict[str, tuple[int, int]] = {}
    for path in [str(root)] if root.is_file() else _files(root):
        # A file may be deleted meanwhile.
        with contextlib.suppress(OSError):
            facts = os.stat(path)  # noqa: PTH116 - thousands of files, and the path is a string
            found[path] = (facts.st_mtime_ns, facts.st_size)
    return found


def _files(root: Path) -> Iterable[str]:
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith((".", "__pycache__"))]
        for name in files:
            if not name.startswith("."):
                yield os.path.join(folder, name)  # noqa: PTH118 - equals `co_filename` as it is


def decorated_in(path: Path) -> list[tuple[str, int]]:
    """Return name and line of each top-level function that a file decorates; do not import it."""
    try:
        text = path.read_text(encoding="utf-8")
        body = ast.parse(text).body if "sidecypher" in text else []
    except (OSError, ValueError, SyntaxError, RecursionError):
        return []
    return [
        (name, node.lineno)
        for node in body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for call in node.decorator_list
        if isinstance(call, ast.Call)
        and getattr(call.func, "attr", getattr(call.func, "id", "")) in _DECORATORS
        for name in _names_given(call)
    ]


def _names_given(call: ast.Call) -> Iterator[str]:
    """Yield the name that a decorator is given, if it is a text: its first or its named one."""
    named = (each.value for each in call.keywords if each.arg in {"name", "path"})
    for given in (*call.args[:1], *named):
        if isinstance(given, ast.Constant) and isinstance(given.value, str):
            yield given.value


def changed_files(before: Stamp, after: Stamp) -> frozenset[str]:
    """Return the files that are new, deleted or different.

    Example:
        >>> changed_files({"a": (1, 1), "b": (1, 1)}, {"a": (2, 1), "b": (1, 1)})
        frozenset({'a'})
    """
    return frozenset(
        path for path in before.keys() | after.keys() if before.get(path) != after.get(path)
    )


def forget_bytecode(files: Iterable[str]) -> None:
    """Remove the bytecode of changed files.

    Python treats bytecode as current if size and whole second of the source are the same. A file
    that is saved twice within a second would keep its first code.
    """
    for path in files:
        if path.endswith(".py"):
            with contextlib.suppress(OSError, NotImplementedError):
                Path(importlib.util.cache_from_source(path)).unlink()
