"""Indexing: analysing a folder in a process of its own, and writing what has changed."""

import asyncio
import os
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from functools import partial
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Final, TypeAlias, cast

import msgspec

from sidecypher import BoltClient, Context
from sidecypher_procedures.code import community_store, store
from sidecypher_procedures.code.communities import Partition
from sidecypher_procedures.code.delta import Delta, Stored
from sidecypher_procedures.code.errors import (
    AnalysisFailed,
    CodeError,
    InvalidId,
    NotInstalled,
    PathNotAllowed,
)
from sidecypher_procedures.code.model import LENGTH, PHASES, CodeGraph, Failure, Request
from sidecypher_procedures.code.options import IndexOptions
from sidecypher_procedures.code.rows import Dropped, Indexed
from sidecypher_procedures.names import LONGEST_NAME, is_id

OnProgress: TypeAlias = Callable[[str, int, int], None]
"""Gets a phase of an indexing, how much of it is done, and how much there is; 0 if not known."""

ONE_TRANSACTION: Final = 50_000
"""The most rows that are written in the caller's transaction: Neo4j keeps them all in memory."""

ReadStored: TypeAlias = Callable[[], Awaitable[Stored]]
"""Reads what Neo4j has of a repository."""

_Pipes: TypeAlias = tuple[asyncio.StreamWriter, asyncio.StreamReader, asyncio.StreamReader]

_read_answer: Final = msgspec.msgpack.Decoder(dict[str, msgspec.Raw]).decode
_read_failure: Final = msgspec.msgpack.Decoder(Failure).decode
_read_delta: Final = msgspec.msgpack.Decoder(Delta).decode
_SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108 - the folder in it has a random name
_LIBRARIES: Final = (
    *("tree_sitter", "pathspec", "pyrefly", "google.protobuf"),
    *("networkit", "graspologic_native", "networkx", "scipy"),
)


async def index(ctx: Context, repo_id: str, folder: Path, options: IndexOptions) -> Indexed:
    """Index a folder as a repository, in the caller's transaction if it is not large.

    Raises:
        CodeError: As with `index_folder`.
    """
    return await index_folder(
        repo_id,
        folder,
        options,
        run=ctx.run,
        run_apart=ctx.resource(BoltClient).run,
        on_progress=lambda _, done, total: ctx.progress(done, total or None),
    )


async def index_here(
    repo_id: str,
    folder: Path,
    run: store.Run,
    on_progress: OnProgress,
    options: IndexOptions = IndexOptions(),
) -> Indexed:
    """Index a folder without a sidecar, each statement in a transaction of its own.

    Raises:
        PathNotAllowed: The path is not a folder.
        CodeError: As with `index_folder`.
    """
    if not await asyncio.to_thread(folder.is_dir):
        raise PathNotAllowed("The path is not a folder")
    return await index_folder(
        repo_id, folder, options, run=run, run_apart=run, on_progress=on_progress
    )


async def index_folder(
    repo_id: str,
    folder: Path,
    options: IndexOptions,
    *,
    run: store.Run,
    run_apart: store.Run,
    on_progress: OnProgress,
) -> Indexed:
    """Index a folder as a repository.

    Up to `ONE_TRANSACTION` rows are written by `run`, in the caller's transaction if there is one.
    More are written by `run_apart`, each statement in a transaction of its own, and the
    repository's status is ``writing`` until the last one.

    Raises:
        InvalidId: The repository cannot have this id.
        RepositoryBusy: Another indexing writes it.
        CodeError: The folder cannot be analysed.
    """
    if not is_id(repo_id):
        raise InvalidId(
            f"The id of the repository has {len(repo_id)} characters",
            hint=f"Give 1 to {LONGEST_NAME}, not only space.",
        )
    begun = time.monotonic()
    state = await store.state_of(run, repo_id)
    request = Request(
        repo_id=repo_id,
        root=str(folder),
        languages=tuple(options.languages),
        resolve=options.resolve,
        scip=tuple(options.scip),
        communities=options.communities,
        entity_types=tuple(options.entity_types),
        rel_types=tuple(options.rel_types),
        digest=state.digest,
    )
    delta = await differences(request, partial(_read_stored, run, repo_id), on_progress)
    if delta is not None:
        writing = store.Writing(run if _is_small(delta) else run_apart, repo_id)
        async with _releasing(writing):
            await writing.begin(folder.name, state.version)
            await _write(writing, delta, partial(on_progress, "write"))
            await writing.end(delta)
    return Indexed(
        repo_id=repo_id,
        **asdict(delta.counts if delta else state.counts),
        written=delta.written if delta else 0,
        removed=delta.removed if delta else 0,
        seconds=round(time.monotonic() - begun, 3),
    )


async def drop(ctx: Context, repo_id: str) -> Dropped:
    """Delete a repository: all of it differs from no files at all.

    Raises:
        RepositoryBusy: An indexing writes it.
    """
    state = await store.state_of(ctx.run, repo_id)
    stored = await _read_stored(ctx.run, repo_id)
    delta = Delta.between(repo_id, stored, CodeGraph(), Partition("none", "", []))
    run = ctx.run if _is_small(delta) else ctx.resource(BoltClient).run
    writing = store.Writing(run, repo_id)
    async with _releasing(writing):
        await writing.begin("", state.version)
        await _write(writing, delta, ctx.progress)
        await writing.delete()
    return Dropped(entities=len(delta.entities.deleted), chunks=len(delta.chunks.deleted))


def _is_small(delta: Delta) -> bool:
    return delta.written + delta.removed <= ONE_TRANSACTION


async def _write(writing: store.Writing, delta: Delta, on_rows: store.OnRows) -> None:
    statements = chain(
        store.statements(delta), community_store.statements(delta.communities, delta.memberships)
    )
    await writing.write(statements, delta.written + delta.removed, on_rows)


@asynccontextmanager
async def _releasing(writing: store.Writing) -> AsyncIterator[None]:
    """Let the next indexing begin at once if this one fails."""
    try:
        yield
    except BaseException:
        # If this fails, too, the repository is free after a while.
        with suppress(Exception):
            await asyncio.shield(writing.release())
        raise


async def _read_stored(run: store.Run, repo_id: str) -> Stored:
    stored = await store.read_stored(run, repo_id)
    stored.communities = await community_store.read_stored(run, repo_id)
    return stored


def check_installed() -> None:
    """Check that the libraries of the extra `code` are there.

    Raises:
        NotInstalled: One is missing.
    """
    if not all(map(_is_installed, _LIBRARIES)):
        raise NotInstalled("Source files cannot be read: libraries are missing")


def _is_installed(library: str) -> bool:
    try:
        return find_spec(library) is not None
    except ModuleNotFoundError:  # the package around it is missing
        return False


async def differences(
    request: Request, read_stored: ReadStored, on_progress: OnProgress
) -> Delta | None:
    """Analyse a folder and compare it with what Neo4j has.

    A process of its own does it, which ends with the task.

    Args:
        request: What to analyse.
        read_stored: Reads what Neo4j has, during the analysis.
        on_progress: Gets how far it has come.

    Returns:
        What differs; None if nothing has changed since the analysis that the request names.

    Raises:
        CodeError: The folder cannot be analysed.
    """
    check_installed()
    # This process removes what the other one has left if it was killed.
    with tempfile.TemporaryDirectory(prefix="sidecypher-code-", dir=_memory()) as scratch:
        output = await _answer(scratch, request, read_stored, on_progress)
    answer = _read_answer(output)
    if "Failure" in answer:
        failure = _read_failure(answer["Failure"])
        raise CodeError(failure.message, code=failure.code)
    if "Unchanged" in answer:
        return None
    return _read_delta(answer["Delta"])


async def _answer(
    scratch: str,
    request: Request,
    read_stored: ReadStored,
    on_progress: OnProgress,
) -> bytes:
    """Return what the process of the analysis writes."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-m",
        "sidecypher_procedures.code.analysis",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=os.environ | {"TMPDIR": scratch},
        start_new_session=True,
    )
    pipe, lines, result = cast(_Pipes, (process.stdin, process.stderr, process.stdout))
    compares = asyncio.get_running_loop().create_future()
    answers = asyncio.gather(result.read(), _listen(lines, on_progress, compares))
    try:
        message = msgspec.msgpack.encode(request)
        pipe.write(LENGTH.pack(len(message)) + message)
        if await compares:
            await _send(pipe, await read_stored())
        pipe.close()
        output, _ = await answers
        await process.wait()
    finally:
        answers.cancel()
        if process.returncode is None:
            # With pyrefly, which it may have started.
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    if process.returncode or not output:
        raise AnalysisFailed(f"The analysis ended with {process.returncode}")
    return output


async def _send(pipe: asyncio.StreamWriter, stored: Stored) -> None:
    """Send what Neo4j has; an analysis that has failed no longer reads it."""
    pipe.write(msgspec.msgpack.encode(stored))
    with suppress(ConnectionError):
        await pipe.drain()


async def _listen(
    lines: asyncio.StreamReader, on_progress: OnProgress, compares: asyncio.Future[bool]
) -> None:
    """Tell of progress; libraries may write other lines.

    Args:
        lines: What the analysis writes.
        on_progress: Gets how far it has come.
        compares: Becomes whether the analysis will compare the files with what Neo4j has.
    """
    try:
        async for line in lines:
            match line.decode("ascii", "replace").split():
                case [phase, done, total] if phase in PHASES and (done + total).isdigit():
                    on_progress(phase, int(done), int(total))
                    if not compares.done():
                        compares.set_result(True)
    finally:
        if not compares.done():
            compares.set_result(False)


def _memory() -> str | None:
    """Return a folder in memory: pyrefly also writes a thousand files on Python's library."""
    return _SHARED_MEMORY if os.access(_SHARED_MEMORY, os.W_OK | os.X_OK) else None
