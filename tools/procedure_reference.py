"""Write docs/reference.md, the page of all procedures, from the catalogue: `make reference`."""

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from sidecypher.loading.loader import load
from sidecypher.protocol.catalogue import ParameterEntry, ProcedureEntry
from sidecypher.sdk.registry import Procedure, Registry

_PAGE = Path(__file__).parents[1] / "docs/reference.md"
_HEAD = """\
# Reference of the procedures

Every procedure that ships with sidecypher, as Neo4j lists it by `SHOW PROCEDURES`. The link after a
description leads to what there is to know beyond. This page is written by `make reference`.
"""


def reference(registry: Registry) -> str:
    """Return the page for the procedures of a registry; no function ships yet."""
    parts = [_HEAD]
    for namespace, entries in groupby(registry.catalogue.procedures, key=_namespace):
        parts.append(f"## {namespace}\n")
        parts += ["\n".join(_section(entry, registry.get(entry.name))) for entry in entries]
    return "\n".join(parts)


def signature(entry: ProcedureEntry) -> str:
    """Return the signature as Neo4j shows it."""
    parameters = ", ".join(map(_shown, entry.parameters))
    columns = ", ".join(f"{column.name} :: {_type(column.type)}" for column in entry.columns)
    return f"{entry.name}({parameters})" + (f" :: ({columns})" if columns else "")


def _shown(parameter: ParameterEntry) -> str:
    default = parameter.default
    if default is None:
        return f"{parameter.name} :: {_type(parameter.type)}"
    # A default that Neo4j has no literal for makes the parameter an ANY.
    kind = "ANY" if default.any else _type(parameter.type)
    return f"{parameter.name} = {default.text} :: {kind}"


def _type(name: str) -> str:
    return name.replace("BYTES", "BYTEARRAY")


def _section(entry: ProcedureEntry, found: Procedure) -> Iterator[str]:
    yield f"### {entry.name}\n"
    yield f"```text\n{signature(entry)}\n```\n"
    yield f"{_prose(entry.description)} {_story(entry.name)}\n"
    yield f"{', '.join(_facts(entry))}.\n"
    if entry.parameters:
        yield "| parameter | type | default |\n|---|---|---|"
        for parameter in entry.parameters:
            yield f"| `{parameter.name}` | `{parameter.type}` | {_default(parameter)} |"
        yield ""
    options = list(found.fields())
    if options:
        yield "| option | type, limits and default | description |\n|---|---|---|"
        for path, field in options:
            yield f"| `{path}` | {_prose(field.allowed)} | {_prose(field.description)} |"
        yield ""
    if entry.columns:
        yield "| column | type | description |\n|---|---|---|"
        for column in entry.columns:
            yield f"| `{column.name}` | `{column.type}` | {_prose(column.description)} |"
        yield ""


def _facts(entry: ProcedureEntry) -> Iterator[str]:
    yield f"Mode {entry.mode}"
    yield f"timeout {entry.timeout_ms / 1000:g} s"
    if entry.admin:
        yield "for administrators"
    if entry.eager:
        yield "eager"
    if entry.cache:
        yield f"cached for {'each user' if entry.cache == 'user' else 'all users'}"
    if entry.availability != "REQUIRED":
        yield f"availability {entry.availability}"
    if entry.deprecated_by is not None:
        yield "deprecated" + (f": use `{entry.deprecated_by}`" if entry.deprecated_by else "")


def _default(parameter: ParameterEntry) -> str:
    if parameter.default is None:
        return "required"
    text = parameter.default.text
    return f"`'{text}'`" if parameter.type == "STRING" else f"`{text}`"


def _story(name: str) -> str:
    """Return a link to the heading of a procedure in a page of its namespace, or to the page."""
    if name.endswith(".batch"):
        return "[Batches](procedures-batches.md#batches)"
    namespace = _namespace_of(name)
    heading = re.compile(rf"^#+ {re.escape(name)}$", re.MULTILINE)
    anchor = re.sub(r"[^\w]", "", name.lower())
    for page in sorted(_PAGE.parent.glob(f"{namespace}*.md")):
        if heading.search(page.read_text(encoding="utf-8")):
            return f"[{name}]({page.name}#{anchor})"
    return f"[{namespace}]({namespace}.md)"


def _namespace(entry: ProcedureEntry) -> str:
    return _namespace_of(entry.name)


def _namespace_of(name: str) -> str:
    return name.partition(".")[0]


def _prose(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


if __name__ == "__main__":
    _PAGE.write_text(reference(load([]).registry), encoding="utf-8")
