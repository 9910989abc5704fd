"""`sidecypher init`."""

import errno
import json
import keyword
import re
import sys
import tempfile
from importlib.metadata import distribution, entry_points
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Final

import jinja2
import typer

from sidecypher.cli.errors import ProjectRefused
from sidecypher.cli.output import show_next, show_text
from sidecypher.errors import SignatureError
from sidecypher.sdk.signature.names import check_procedure_name

_NAME: Final = re.compile(r"[a-z][a-z0-9]*\Z")
_LONGEST: Final = 40
_TARGET_EXISTS: Final = frozenset({errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR})
FILES: Final = {
    ".github/workflows/test.yml": "test.yml.j2",
    ".gitignore": "gitignore.j2",
    "README.md": "README.md.j2",
    "compose.yml": "compose.yml.j2",
    "pyproject.toml": "pyproject.toml.j2",
    "sidecypher.toml": "sidecypher.toml.j2",
    "tests/test_greeting.py": "test_greeting.py.j2",
    "{name}/__init__.py": "package.py.j2",
    "{name}/greeting.py": "greeting.py.j2",
}
"""The files of a project, each with its template."""


def init(
    name: Annotated[str, typer.Argument(help="Name the project, its folder and its namespace.")],
) -> None:
    """Write a project with one procedure and its test.

    Creates a folder with that name. It contains a package with a typed procedure, a test that needs
    no server, and the [settings](settings.md). A `pyproject.toml` names the sidecypher that you
    have installed, so `pip install --editable '.[test]'` works. There is also a workflow for GitHub
    Actions, and a `compose.yml` for containers. Never overwrites a folder with files.

    ```sh
    sidecypher init people
    ```
    """
    _check_name(name)
    target = Path(name)
    _write(target, name)
    for path in sorted(FILES):
        show_text(f"{name}/{path.format(name=name)}")
    show_next(f"cd {name} && sidecypher dev", "starts Neo4j, and loads what you save")


def _check_name(name: str) -> None:
    try:
        check_procedure_name(f"{name}.greet")
        fits = bool(_NAME.match(name))
    except SignatureError:
        fits = False
    taken = {"tests", *(point.name for point in entry_points(group="sidecypher.procedures"))}
    if not fits or keyword.iskeyword(name) or name in taken or len(name) > _LONGEST:
        raise ProjectRefused(
            f"`{name}` is not a valid project name",
            hint="Use lowercase letters and digits only, and no reserved word or namespace that is "
            "in use: `sidecypher init people`.",
        )
    if _is_module(name):
        raise ProjectRefused(
            f"`{name}` is the name of an existing Python module",
            hint="Use another name: `sidecypher init people`.",
        )


def _is_module(name: str) -> bool:
    """Return whether an import of the name finds a module outside of the current folder."""
    if name in sys.stdlib_module_names:
        return True
    found = find_spec(name)
    places = (found.submodule_search_locations or [str(found.origin)]) if found else []
    return any(Path(place).absolute().parent != Path.cwd() for place in places)


def _write(target: Path, name: str) -> None:
    """Write all files or none: make them in another folder, and move it in one step."""
    refused = ProjectRefused(
        f"`{name}` already exists and is not empty",
        hint="Choose another name, or delete the files.",
    )
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise refused
    with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=target.absolute().parent) as folder:
        # A subfolder, because only its owner may read the temporary folder.
        draft = Path(folder, name)
        draft.mkdir()
        for path, template in FILES.items():
            file = draft / path.format(name=name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(_rendered(template, name), encoding="utf-8")
        try:
            draft.replace(target)
        except OSError as error:
            # Another process has created the folder meanwhile.
            raise (refused if error.errno in _TARGET_EXISTS else error) from error


def _rendered(template: str, name: str) -> str:
    text = (files(__package__) / "project_template" / template).read_text(encoding="utf-8")
    environment = jinja2.Environment(
        autoescape=False,  # noqa: S701 - none of it is HTML, and the name is letters and digits
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.from_string(text).render(name=name, sidecypher=_own_requirement())


def _own_requirement() -> str:
    """Return the requirement that installs this sidecypher again.

    An installer writes `direct_url.json` if it got the package from a URL or a file (PEP 610).
    """
    own = distribution("sidecypher")
    origin = own.read_text("direct_url.json")
    if origin is None:
        return f"sidecypher[embedded]~={own.version}"
    found = json.loads(origin)
    url, vcs = found["url"], found.get("vcs_info")
    return "sidecypher[embedded] @ " + (f"{vcs['vcs']}+{url}@{vcs['commit_id']}" if vcs else url)
