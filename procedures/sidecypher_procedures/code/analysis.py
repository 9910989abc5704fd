"""From a folder of source files to the graph of its code.

`python -m sidecypher_procedures.code.analysis` does it in a process that can be ended, since it
takes seconds and much memory: it reads a `Request` from its input, and writes a `CodeGraph` or an
error to its output, both as MessagePack.
"""

import gc
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from sidecypher import SidecypherError
from sidecypher_procedures.code.assembly import Assembly
from sidecypher_procedures.code.extraction import extract
from sidecypher_procedures.code.lexical import Names, families
from sidecypher_procedures.code.model import (
    CodeGraph,
    Failure,
    Import,
    Link,
    Place,
    Request,
    SourceFile,
)
from sidecypher_procedures.code.python.modules import Modules, absolute_name, module_name
from sidecypher_procedures.code.python.resolution import Resolver
from sidecypher_procedures.code.sources import read_sources

_DEEPEST: Final = 20_000
"""Python's limit of nested calls: a program may add up a thousand texts in one expression."""


def analyse(request: Request) -> CodeGraph:
    """Read, resolve and assemble the graph of a folder.

    Raises:
        CodeError: The folder cannot be analysed.
    """
    sources = read_sources(Path(request.root), request.languages)
    files = {
        path: extract(path, language, content)
        for path, (language, content) in sources.files.items()
    }
    assembly = Assembly(request.repo_id)
    assembly.graph.failed |= sources.skipped
    for path, file in files.items():
        assembly.add_file(file, sources.files[path][1])
    for language, group in families(files.values()).items():
        if language == "python":
            own = {file.path: file for file in group}
            contents = {path: sources.files[path][1] for path in own}
            assembly.add(Resolver(own, contents).links(use_types=request.resolve))
            _add_imports(assembly, group, partial(_python_paths, Modules.of(own)))
        else:
            names = Names(group)
            assembly.add(names.links())
            _add_imports(assembly, group, names.module_paths)
    return assembly.finish()


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
    importer = module_name(file.path)
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


def main() -> None:
    """Analyse what the input asks for."""
    sys.setrecursionlimit(_DEEPEST)
    # Nearly all objects live as long as the process: looking for others takes half of the time.
    gc.disable()
    request = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=Request)
    try:
        answer: CodeGraph | Failure = analyse(request)
    except SidecypherError as error:
        answer = Failure(error.code, error.message)
    sys.stdout.buffer.write(msgspec.msgpack.encode({type(answer).__name__: answer}))


if __name__ == "__main__":
    main()
