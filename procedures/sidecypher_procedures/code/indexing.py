"""Indexing: analysing a folder in a process of its own, and writing what has changed."""

import asyncio
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import msgspec

from sidecypher import BoltClient, Context
from sidecypher_procedures.code import store
from sidecypher_procedures.code.errors import AnalysisFailed, CodeError, NotInstalled
from sidecypher_procedures.code.model import CodeGraph, Failure, Request
from sidecypher_procedures.code.options import IndexOptions
from sidecypher_procedures.code.rows import Indexed

ONE_TRANSACTION: Final = 50_000
"""The most rows that are written in the caller's transaction: Neo4j keeps them all in memory."""

_LIBRARIES: Final = ("tree_sitter", "pathspec", "pyrefly")


async def index(ctx: Context, repo_id: str, folder: Path, options: IndexOptions) -> Indexed:
    """Index a folder as a repository.

    Up to `ONE_TRANSACTION` rows are written in the caller's transaction. More are written in
    transactions of their own; until the last of them the repository's status is ``writing``.

    Raises:
        CodeError: The folder cannot be analysed.
    """
    begun = time.monotonic()
    request = Request(
        repo_id=repo_id,
        root=str(folder),
        languages=tuple(options.languages),
        resolve=options.resolve,
    )
    graph = await analysed(request)
    delta = await store.read_delta(ctx.run, repo_id, graph)
    is_large = delta.written + delta.removed > ONE_TRANSACTION
    run: store.Run = ctx.resource(BoltClient).run if is_large else ctx.run
    await store.begin(run, repo_id, folder.name)
    await store.write(run, delta)
    await store.end(run, repo_id, graph)
    return Indexed(
        repo_id=repo_id,
        files=len({entity.path for entity in graph.entities} - {""}),
        entities=len(graph.entities),
        relationships=len(graph.relationships),
        written=delta.written,
        removed=delta.removed,
        unresolved=sum(graph.unresolved.values()),
        seconds=round(time.monotonic() - begun, 3),
    )


async def analysed(request: Request) -> CodeGraph:
    """Analyse a folder in a process, which ends with the task.

    Raises:
        CodeError: The folder cannot be analysed.
    """
    if not all(map(find_spec, _LIBRARIES)):
        raise NotInstalled("Source files cannot be read: libraries are missing")
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-m",
        "sidecypher_procedures.code.analysis",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        output, _ = await process.communicate(msgspec.msgpack.encode(request))
    finally:
        if process.returncode is None:
            process.kill()
    if process.returncode or not output:
        raise AnalysisFailed(f"The analysis ended with {process.returncode}")
    answer = msgspec.msgpack.decode(output, type=dict[str, msgspec.Raw])
    if "Failure" in answer:
        failure = msgspec.msgpack.decode(answer["Failure"], type=Failure)
        raise CodeError(failure.message, code=failure.code)
    return msgspec.msgpack.decode(answer["CodeGraph"], type=CodeGraph)
