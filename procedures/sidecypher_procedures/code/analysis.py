"""From a folder of source files to the graph of its code.

`python -m sidecypher_procedures.code.analysis` does it in a process that can be ended, since it
takes seconds and much memory: it reads a `Request` and what Neo4j has (`Stored`) from its input,
and writes a `Delta` or an error to its output, all as MessagePack. Lines on its standard error tell
how far it has come: a phase, what is done, and what there is to do.
"""

import gc
import hashlib
import os
import re
import resource
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from importlib.metadata import distributions, requires
from itertools import count, islice
from multiprocessing import get_context
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from sidecypher import SidecypherError
from sidecypher_procedures.code.assembly import Assembly
from sidecypher_procedures.code.communities import partition
from sidecypher_procedures.code.delta import Delta, Stored
from sidecypher_procedures.code.errors import AnalysisFailed, CodeError
from sidecypher_procedures.code.extraction import extract
from sidecypher_procedures.code.lexical import Names, families
from sidecypher_procedures.code.model import (
    LENGTH,
    CodeGraph,
    Failure,
    Import,
    Language,
    Link,
    Place,
    Request,
    SourceFile,
    Targets,
    Unchanged,
)
from sidecypher_procedures.code.python import pyrefly
from sidecypher_procedures.code.python.modules import Modules, absolute_name, package_of
from sidecypher_procedures.code.python.resolution import Resolver
from sidecypher_procedures.code.scip import resolution as scip
from sidecypher_procedures.code.scip import typescript
from sidecypher_procedures.code.scip.format import Index
from sidecypher_procedures.code.sources import Sources, read_sources

_DEEPEST: Final = 20_000
"""Python's limit of nested calls: a program may add up a thousand texts in one expression."""

_MOST_MEMORY: Final = 8 * 1024**3
"""The most bytes of data of each process here: without it, the machine might run out of memory."""

_BATCH: Final = 50
"""The most files that are extracted before their results are sent."""

_NAME: Final = re.compile(r"[\w.-]+")

_FILES: Final = msgspec.msgpack.Decoder(list[SourceFile])
_read_request: Final = msgspec.msgpack.Decoder(Request).decode
_read_stored: Final = msgspec.msgpack.Decoder(Stored).decode


def digest_of(request: Request, sources: Sources) -> str:
    """Return a digest of all that the graph depends on: files, options and this program."""
    files = sorted(Path(__file__).parent.rglob("*"))
    own = [file.read_bytes() for file in files if file.suffix in {".py", ".scm"}]
    indexer = shutil.which(typescript.NAME)
    program = (own, _libraries(), sys.version, indexer)
    parts = (replace(request, digest=""), sources, program)
    return hashlib.blake2b(msgspec.msgpack.encode(parts), digest_size=16).hexdigest()


def _libraries() -> list[tuple[str, str]]:
    """Return names and versions of the libraries of the extra `code`."""
    required = [each for each in requires("sidecypher") or () if "extra == 'code'" in each]
    names = [name.group() for name in map(_NAME.match, required) if name]
    return [(name, each.version) for name in names for each in distributions(name=name)]


def analyse(request: Request, sources: Sources) -> CodeGraph:
    """Resolve and assemble the graph of the files of a folder.

    Raises:
        CodeError: The files cannot be analysed.
    """
    root = Path(request.root).resolve()
    indexes = [Index(name, content, root) for name, content in sources.indexes.items()]
    python = {
        path: content for path, (language, content) in sources.files.items() if language == "python"
    }
    package = package_of(root.name, python)
    modules = Modules.of(python, package)
    python = {path: content for path, content in python.items() if not modules.is_stub(path)}
    assembly = Assembly(request.repo_id)
    assembly.graph.failed |= sources.skipped
    # Four things at once: pyrefly, scip-typescript, the extraction, and the flow of values here.
    # The process is forked before there is a thread.
    with ProcessPoolExecutor(1, get_context("fork")) as process, ThreadPoolExecutor(2) as threads:
        extracted = _extracting(process, sources)
        report("resolve")
        is_typed = request.resolve and bool(python)
        typed = threads.submit(pyrefly.resolve, python, package) if is_typed else None
        compiled = threads.submit(_compiled, sources, indexes) if request.resolve else None
        resolver = Resolver(python, modules)
        if typed is not None:
            resolver.add_types(typed.result())
        if compiled is not None:
            indexes += _result(compiled, assembly.graph.failed)
        files = [file for batch in extracted for file in _FILES.decode(batch.result())]
    for file in files:
        assembly.add_file(file, sources.files[file.path][1])
    targets = _look_up(indexes, files, sources, assembly.graph.failed)
    for language, group in families(files).items():
        if language == "python":
            links = [*resolver.links(group)]
            assembly.add(links)
            assembly.add(_open_calls(group, links, targets))
            if resolver.is_cut:
                assembly.graph.failed["flow of values"] = "too many values, calls may be missing"
            _add_imports(assembly, group, partial(_python_paths, modules))
        else:
            names = Names(group, targets)
            assembly.add(names.links())
            _add_imports(assembly, group, names.module_paths)
    graph = assembly.finish()
    graph.keep(request.entity_types, request.rel_types)
    return graph


def _compiled(sources: Sources, indexes: Sequence[Index]) -> list[Index]:
    """Return an index of JavaScript and TypeScript, if there are files that none of others has."""
    known = {path for index in indexes for path in index.paths(sources.files)}
    program = {
        path: content
        for path, (language, content) in sources.files.items()
        if language in {"javascript", "typescript"}
    }
    return [typescript.index(program, sources.settings)] if program.keys() - known else []


def _result(compiled: Future[list[Index]], failed: dict[str, str]) -> list[Index]:
    """Return the index, or note why there is none: then names have to do."""
    try:
        return compiled.result()
    except CodeError as error:
        failed[typescript.NAME] = error.message
        return []


def _look_up(
    indexes: Sequence[Index],
    files: Sequence[SourceFile],
    sources: Sources,
    failed: dict[str, str],
) -> Targets:
    """Find what SCIP indexes know of names, and note for which files they know nothing."""
    contents = {path: content for path, (_, content) in sources.files.items()}
    for index in indexes:
        if unknown := sum(path not in contents for path in index.paths(contents)):
            failed[index.name] = f"{unknown} documents are of other files than those indexed"
    resolved = scip.resolve(indexes, files, contents)
    for path, misfits in resolved.misfits.items():
        failed.setdefault(path, f"differs from its SCIP index in {misfits} places")
    return resolved.targets


def _open_calls(
    files: Iterable[SourceFile], links: Iterable[Link], targets: Targets
) -> Iterator[Link]:
    """Yield the targets of calls for which there is no link."""
    found = {(each.source.path, each.line, each.column) for each in links if each.type == "calls"}
    for file in files:
        for call in file.calls:
            if (file.path, call.line, call.column) not in found:
                source = Place(file.path, call.inside)
                for target in targets.get((file.path, call.name_at), ()):
                    yield Link(source, target, "calls", "typed", call.line, call.column)


def _batches(sources: Sources) -> Iterator[list[tuple[str, Language, bytes]]]:
    remaining = ((path, *file) for path, file in sources.files.items())
    while batch := list(islice(remaining, _BATCH)):
        yield batch


def _extracting(process: ProcessPoolExecutor, sources: Sources) -> list[Future[bytes]]:
    """Begin to extract files, and report how many are done."""
    batches, total = count(1), len(sources.files)

    def report_batch(_: Future[bytes]) -> None:
        report("read", min(next(batches) * _BATCH, total), total)

    futures = [process.submit(_extracted, batch) for batch in _batches(sources)]
    for future in futures:
        future.add_done_callback(report_batch)
    return futures


def report(phase: str, done: int = 0, total: int = 0) -> None:
    """Tell the process that waits how far this one has come."""
    os.write(sys.stderr.fileno(), f"{phase} {done} {total}\n".encode())


def _extracted(batch: list[tuple[str, Language, bytes]]) -> bytes:
    """Extract files in the other process."""
    return msgspec.msgpack.encode([extract(*file) for file in batch])


def _add_imports(
    assembly: Assembly,
    files: Iterable[SourceFile],
    paths_of: Callable[[SourceFile, Import], Iterable[str]],
) -> None:
    for file in files:
        for each in file.imports:
            found = list(paths_of(file, each))
            if found:
                assembly.add(
                    Link(Place(file.path, 0), Place(path, 0), "imports", "exact", each.line, 0)
                    for path in found
                )
            elif not each.module.startswith("."):
                assembly.add_external(file, _package(each.module), each.line)


def _python_paths(modules: Modules, file: SourceFile, each: Import) -> Iterator[str]:
    """Yield the file that an import names: the module in a package, or the module itself."""
    importer = modules.names[file.path]
    bare = each.module.lstrip(".")
    absolute = absolute_name(
        importer,
        is_package=modules.is_package(importer),
        level=len(each.module) - len(bare),
        module=bare,
    )
    for wanted in (f"{absolute}.{each.name}", absolute):
        found = modules.find(wanted)
        if found is not None and found.name in modules.paths:
            yield modules.paths[found.name]
            return


def _package(module: str) -> str:
    """Return the package that a module is part of, such as ``numpy`` of ``numpy.linalg``."""
    return module.partition(".")[0] if "/" not in module else module


def _delta(graph: CodeGraph, request: Request, digest: str, pipe: BinaryIO) -> Delta:
    """Compare the graph with what Neo4j has, which the input tells by now."""
    report("compare")
    stored = _read_stored(pipe.read())
    found = partition(
        graph,
        request.communities,
        digest=stored.communities.digest,
        stored=stored.communities.members,
    )
    return Delta.between(request.repo_id, stored, graph, found, digest)


def main() -> None:
    """Analyse what the input asks for."""
    sys.setrecursionlimit(_DEEPEST)
    resource.setrlimit(resource.RLIMIT_DATA, (_MOST_MEMORY, _MOST_MEMORY))
    # Nearly all objects live as long as the process: looking for others takes half of the time.
    gc.disable()
    pipe = sys.stdin.buffer
    [length] = LENGTH.unpack(pipe.read(LENGTH.size))
    request = _read_request(pipe.read(length))
    answer: Delta | Unchanged | Failure
    try:
        sources = read_sources(Path(request.root), request.languages, request.scip)
        digest = digest_of(request, sources)
        if digest == request.digest:
            answer = Unchanged()
        else:
            answer = _delta(analyse(request, sources), request, digest, pipe)
    except SidecypherError as error:
        answer = Failure(error.code, error.message)
    except OSError as error:
        answer = Failure(
            AnalysisFailed.code, f"The system has stopped the analysis: {error.strerror}"
        )
    except MemoryError:
        answer = Failure(AnalysisFailed.code, "The analysis needs more memory than it may have")
    sys.stdout.buffer.write(msgspec.msgpack.encode({type(answer).__name__: answer}))
    sys.stdout.buffer.flush()
    # Freeing all objects one by one takes two seconds for a large repository.
    os._exit(0)


if __name__ == "__main__":
    main()
