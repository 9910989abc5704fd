"""Indexing: analysing a folder in a process of its own, and writing what has changed."""

import asyncio
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, LiteralString, cast

import msgspec

from sidecypher import BoltClient, Context
from sidecypher_procedures.code import store
from sidecypher_procedures.code.delta import Delta, Stored
from sidecypher_procedures.code.errors import (
    AnalysisFailed,
    CodeError,
    InvalidId,
    NotInstalled,
    PathNotAllowed,
)
from sidecypher_procedures.code.model import LENGTH, Failure, Request
from sidecypher_procedures.code.options import IndexOptions
from sidecypher_procedures.code.rows import Indexed
from sidecypher_procedures.names import LONGEST_NAME, is_id

ONE_TRANSACTION: Final = 50_000
"""The most rows that are written in the caller's transaction: Neo4j keeps them all in memory."""

_SHOWN: Final = (
    "files",
    "entities",
    "relationships",
    "written",
    "removed",
    "unresolved",
    "seconds",
)
_SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108 - the folder in it has a random name
_LIBRARIES: Final = ("tree_sitter", "pathspec", "pyrefly")


async def index(ctx: Context, repo_id: str, folder: Path, options: IndexOptions) -> Indexed:
    """Index a folder as a repository.

    Up to `ONE_TRANSACTION` rows are written in the caller's transaction. More are written in
    transactions of their own; until the last of them the repository's status is ``writing``.

    Raises:
        CodeError: The folder cannot be analysed.
    """
    return await _index(repo_id, folder, options, ctx.run, ctx.resource(BoltClient).run)


def index_here(
    repo_id: str,
    folder: Path,
    run: Callable[[LiteralString, dict[str, Any]], list[dict[str, Any]]],
) -> dict[str, Any]:
    """Index a folder without a sidecar; return the columns of `code.index`.

    Args:
        repo_id: The repository's id.
        folder: Where its files are.
        run: Runs a statement with parameters, in a transaction of its own.

    Raises:
        CodeError: The folder cannot be analysed.
    """
    if not folder.is_dir():
        raise PathNotAllowed("The path is not a folder")

    async def run_in_thread(statement: LiteralString, /, **parameters: Any) -> Any:
        return await asyncio.to_thread(run, statement, parameters)

    indexed = asyncio.run(_index(repo_id, folder, IndexOptions(), run_in_thread, run_in_thread))
    return {name: getattr(indexed, name) for name in _SHOWN}


async def _index(
    repo_id: str, folder: Path, options: IndexOptions, run: store.Run, run_apart: store.Run
) -> Indexed:
    if not is_id(repo_id):
        raise InvalidId(
            f"The id of the repository has {len(repo_id)} characters",
            hint=f"Give 1 to {LONGEST_NAME}, not only space.",
        )
    begun = time.monotonic()
    request = Request(
        repo_id=repo_id,
        root=str(folder),
        languages=tuple(options.languages),
        resolve=options.resolve,
    )
    delta = await differences(request, store.read_stored(run, repo_id))
    is_large = delta.written + delta.removed > ONE_TRANSACTION
    writing = run_apart if is_large else run
    await store.begin(writing, repo_id, folder.name)
    await store.write(writing, delta)
    await store.end(writing, repo_id, delta)
    return Indexed(
        repo_id=repo_id,
        **delta.counts,
        written=delta.written,
        removed=delta.removed,
        unresolved=sum(delta.unresolved.values()),
        seconds=round(time.monotonic() - begun, 3),
    )


async def differences(request: Request, stored: Coroutine[Any, Any, Stored]) -> Delta:
    """Analyse a folder and compare it with what Neo4j has.

    A process of its own does it, which ends with the task.

    Args:
        request: What to analyse.
        stored: Reads what Neo4j has, while the folder is read.

    Raises:
        CodeError: The folder cannot be analysed.
    """
    if not all(map(find_spec, _LIBRARIES)):
        stored.close()
        raise NotInstalled("Source files cannot be read: libraries are missing")
    # This process removes what the other one has left if it was killed.
    with tempfile.TemporaryDirectory(prefix="sidecypher-code-", dir=_memory()) as scratch:
        output = await _answer(scratch, request, stored)
    answer = msgspec.msgpack.decode(output, type=dict[str, msgspec.Raw])
    if "Failure" in answer:
        failure = msgspec.msgpack.decode(answer["Failure"], type=Failure)
        raise CodeError(failure.message, code=failure.code)
    return msgspec.msgpack.decode(answer["Delta"], type=Delta)


async def _answer(scratch: str, request: Request, stored: Coroutine[Any, Any, Stored]) -> bytes:
    """Return what the process of the analysis writes."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-m",
        "sidecypher_procedures.code.analysis",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=os.environ | {"TMPDIR": scratch},
        start_new_session=True,
    )
    try:
        message = msgspec.msgpack.encode(request)
        pipe = cast(asyncio.StreamWriter, process.stdin)
        pipe.write(LENGTH.pack(len(message)) + message)
        output, _ = await process.communicate(msgspec.msgpack.encode(await stored))
    finally:
        if process.returncode is None:
            # With pyrefly, which it may have started.
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    if process.returncode or not output:
        raise AnalysisFailed(f"The analysis ended with {process.returncode}")
    return output


def _memory() -> str | None:
    """Return a folder in memory: pyrefly also writes a thousand files on Python's library."""
    return _SHARED_MEMORY if os.access(_SHARED_MEMORY, os.W_OK | os.X_OK) else None
