"""From a catalogue to the Java sources of its stubs."""

from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from sidecypher.catalogue import Catalogue, ParameterEntry, ProcedureEntry
from sidecypher_plugin.checks import check_catalogue
from sidecypher_plugin.java import java_type, string_literal

__all__ = ["render"]

_FOLDER: Final = "io/sidecypher/generated"
_TEMPLATE: Final = "namespace.java.j2"


@dataclass(frozen=True, slots=True)
class _Parameter:
    """A parameter as the template writes it; `name_elements` are those of its `@Name`."""

    name: str
    cypher_type: str
    nullable: bool
    java_type: str
    name_elements: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Column:
    """A column as the template writes it."""

    name: str
    cypher_type: str
    java_type: str


@dataclass(frozen=True, slots=True)
class _Procedure:
    """A procedure as the template writes it."""

    entry: ProcedureEntry
    parameters: tuple[_Parameter, ...]
    columns: tuple[_Column, ...]


def render(catalogue: Catalogue) -> dict[str, str]:
    """Write one Java class per namespace of the catalogue.

    Args:
        catalogue: What `Catalogue.build` gave.

    Returns:
        The sources by their path, relative to a source folder.

    Raises:
        UnfitProcedure: An entry cannot become a procedure that Neo4j loads.

    Example:
        >>> render(Catalogue.build([]))
        {}
    """
    check_catalogue(catalogue)
    template = _environment().get_template(_TEMPLATE)
    by_namespace = groupby(sorted(catalogue.procedures, key=_namespace), key=_namespace)
    sources = {}
    for index, (namespace, procedures) in enumerate(by_namespace):
        class_name = _class_name(namespace, index)
        sources[f"{_FOLDER}/{class_name}.java"] = template.render(
            class_name=class_name, procedures=[_procedure(entry) for entry in procedures]
        )
    return sources


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("sidecypher_plugin"),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701  # Java, not HTML: every text goes through `literal`
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["literal"] = string_literal
    return environment


def _namespace(entry: ProcedureEntry) -> str:
    return entry.name.rpartition(".")[0]


def _class_name(namespace: str, index: int) -> str:
    """Name a class so that no other class has that name, on file systems without case either."""
    words = namespace.replace(".", "_").split("_")
    return "".join(word[:1].upper() + word[1:] for word in words) + f"_{index}"


def _procedure(entry: ProcedureEntry) -> _Procedure:
    return _Procedure(
        entry=entry,
        parameters=tuple(_parameter(parameter) for parameter in entry.parameters),
        columns=tuple(
            _Column(column.name, column.type, java_type(column.type)) for column in entry.columns
        ),
    )


def _parameter(entry: ParameterEntry) -> _Parameter:
    default = entry.default
    by_null = default is not None and default.any
    elements = [("value", entry.name)]
    if default is not None:
        elements.append(("defaultValue", default.text))
    return _Parameter(
        name=entry.name,
        cypher_type=entry.type,
        nullable=entry.nullable or by_null,
        java_type="Object" if by_null else java_type(entry.type),
        name_elements=tuple(elements),
    )
