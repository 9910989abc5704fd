"""Generate the Java sources of stubs from a catalogue."""

import re
from functools import cache
from itertools import chain
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from sidecypher.protocol.catalogue import Catalogue, FunctionEntry, ProcedureEntry
from sidecypher_plugin.errors import UnfitProcedure
from sidecypher_plugin.java import expression
from sidecypher_plugin.stubs import Stub, function_stub, procedure_stub

_FOLDER: Final = "io/sidecypher/generated"
_TEMPLATE: Final = "namespace.java.j2"
_IDENTIFIER: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_Entry = ProcedureEntry | FunctionEntry


def render(catalogue: Catalogue) -> dict[str, str]:
    """Write one Java class per namespace of the catalogue.

    Args:
        catalogue: The procedures and functions.

    Returns:
        The sources by their path, relative to a source folder.

    Raises:
        UnfitProcedure: A procedure, function, parameter or column has a name that is not allowed.

    Example:
        >>> render(Catalogue.build([]))
        {}
    """
    _check_names(catalogue)
    template = _environment().get_template(_TEMPLATE)
    sources = {}
    for index, namespace in enumerate(_namespaces(catalogue)):
        class_name = _class_name(namespace, index)
        sources[f"{_FOLDER}/{class_name}.java"] = template.render(
            class_name=class_name, stubs=_stubs(catalogue, namespace)
        )
    return sources


def _check_names(catalogue: Catalogue) -> None:
    """Refuse names that are not Java identifiers: they become part of the Java sources.

    All other rules of a signature are checked when its function is decorated.
    """
    for entry in _entries(catalogue):
        columns = entry.columns if isinstance(entry, ProcedureEntry) else ()
        names = [each.name for each in entry.parameters] + [each.name for each in columns]
        for name in (*entry.name.split("."), *names):
            if not _IDENTIFIER.fullmatch(name):
                raise UnfitProcedure(
                    f"The entry {entry.name!a} of the catalogue has the name {name!a}",
                    hint="Use ASCII letters, digits and underscores, and begin with a letter.",
                )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("sidecypher_plugin"),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701  # Java, not HTML: every text goes through `expression`
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["expression"] = expression
    return environment


def _entries(catalogue: Catalogue) -> chain[_Entry]:
    return chain(catalogue.procedures, catalogue.functions)


def _namespaces(catalogue: Catalogue) -> list[str]:
    return sorted({_namespace(entry) for entry in _entries(catalogue)})


def _namespace(entry: _Entry) -> str:
    return entry.name.rpartition(".")[0]


def _stubs(catalogue: Catalogue, namespace: str) -> list[Stub]:
    procedures = (each for each in catalogue.procedures if _namespace(each) == namespace)
    functions = (each for each in catalogue.functions if _namespace(each) == namespace)
    return [
        *(procedure_stub(entry, number) for number, entry in enumerate(procedures)),
        *(function_stub(entry, number) for number, entry in enumerate(functions)),
    ]


def _class_name(namespace: str, index: int) -> str:
    """Return a class name that is unique, also on case-insensitive file systems."""
    words = namespace.replace(".", "_").split("_")
    return "".join(word[:1].upper() + word[1:] for word in words) + f"_{index}"
