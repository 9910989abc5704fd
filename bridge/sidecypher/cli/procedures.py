"""`sidecypher procedures`."""

from typing import Annotated, Any

import typer

from sidecypher.cli.options import AsJson, Config, Procedures
from sidecypher.cli.output import results, show_json, show_next, show_text
from sidecypher.cli.prepare import load_procedures
from sidecypher.errors import UnknownProcedure
from sidecypher.host.settings import load_settings
from sidecypher.sdk.registry import Procedure
from sidecypher.sdk.samples import sample_call


def procedures(
    name: Annotated[
        str | None, typer.Argument(help="List only names with this prefix, such as `github`.")
    ] = None,
    procedures: Procedures = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """List procedures and functions with a sample call.

    Lists the procedures and functions of installed packages and of your folders. Neo4j need not
    be running. To list what a running sidecar has loaded, call
    [`sidecypher.procedures`](sidecypher.md#sidecypherprocedures).

    | member | meaning |
    |---|---|
    | `name` | name in Cypher |
    | `kind` | `procedure` or `function` |
    | `mode` | `READ`, `WRITE` or `SCHEMA`; null for a function |
    | `signature` | parameters and columns |
    | `description` | first line of its docstring |
    | `options` | `name` and `meaning` of parameters with a description and of fields of options |
    | `sample` | a statement that calls it |

    ```sh
    sidecypher procedures github.get
    sidecypher procedures --procedures my --json
    ```
    """
    loaded = load_procedures(load_settings({"procedures": procedures}, config=config))
    found = sorted(
        (each for each in loaded.registry if each.name.startswith(name or "")),
        key=lambda each: (each.name, each.kind),
    )
    if not found:
        raise UnknownProcedure(
            f"No procedure's name begins with `{name}`", hint="`sidecypher procedures` lists all."
        )
    if as_json:
        show_json([_facts(each) for each in found])
        return
    for each in found:
        facts = _facts(each)
        heading = facts["signature"].partition(" :: (")[0]
        results.print(heading, style="bold", markup=False, highlight=False, soft_wrap=True)
        options = [f"`{each['name']}` is {each['meaning']}" for each in facts["options"]]
        for line in (facts["description"], *options, facts["sample"]):
            if line:
                show_text(f"    {line}")
    show_next("sidecypher call NAME ARGUMENTS", "calls one of them, while `sidecypher up` runs")


def _facts(found: Procedure) -> dict[str, Any]:
    return {
        "name": found.name,
        "kind": found.kind,
        "mode": getattr(found.entry, "mode", None),
        "signature": found.usage(),
        "description": " ".join(found.entry.description.split()),
        "options": [{"name": name, "meaning": meaning} for name, meaning in found.meanings()],
        "sample": sample_call(found.entry),
    }
