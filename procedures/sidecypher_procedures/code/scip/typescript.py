"""What the TypeScript compiler knows of a program, by the indexer scip-typescript.

It is a package of npm that is run if it is installed. The compiler reads files, and runs none: not
even the plugins that a configuration names, which are for editors.
"""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from sidecypher_procedures.code.errors import ResolverFailed
from sidecypher_procedures.code.scip.format import Index

NAME: Final = "scip-typescript"
VERSION: Final = "0.4.0"
"""The version that is tested: with another one, the graph of equal files may differ."""

_PACKAGE: Final = "@sourcegraph/scip-typescript"

_SECONDS: Final = 600
_DEFAULTS: Final = {
    "compilerOptions": {
        "jsx": "preserve",
        "module": "esnext",
        "moduleResolution": "bundler",
        "target": "esnext",
    }
}
"""What counts where a repository's own configuration says nothing."""

_CONFIGURATION: Final = "tsconfig.json"


def index(sources: Mapping[str, bytes], settings: Mapping[str, bytes]) -> Index:
    """Let scip-typescript index a program.

    Args:
        sources: The files of JavaScript and TypeScript, by path.
        settings: The configurations of compiler and packages, by path. Only these copies of the
            repository's files are seen, so no library is.

    Raises:
        ResolverFailed: scip-typescript is not installed, or has failed.
    """
    program = shutil.which(NAME)
    if program is None or shutil.which("node") is None:
        raise ResolverFailed(f"is not installed, run `npm install --global {_PACKAGE}@{VERSION}`")
    with tempfile.TemporaryDirectory() as name:
        # The compiler tells of files by their paths without links.
        folder = Path(name).resolve()
        copy = folder / "program"
        for path, content in {**settings, **sources}.items():
            file = copy / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        _write(folder / "defaults.json", _DEFAULTS)
        # A configuration that needs one of a library is not used.
        own = [[f"./program/{_CONFIGURATION}"]] if _CONFIGURATION in settings else []
        for configurations in (*own, []):
            _configure(folder, ["./defaults.json", *configurations], sources)
            _run(program, folder)
            output = folder / "index.scip"
            if output.is_file():
                return Index(NAME, output.read_bytes(), copy)
    raise ResolverFailed("wrote no index")


def _configure(folder: Path, extended: list[str], sources: Mapping[str, bytes]) -> None:
    _write(
        folder / _CONFIGURATION,
        {
            "extends": extended,
            "compilerOptions": {
                "allowJs": True,
                "composite": False,
                "incremental": False,
                "noEmit": True,
                "skipLibCheck": True,
            },
            "files": [f"program/{path}" for path in sources],
            "include": [],
        },
    )


def _write(file: Path, content: Mapping[str, object]) -> None:
    file.write_text(json.dumps(content), encoding="utf-8")


def _run(program: str, folder: Path) -> None:
    command = [
        *(program, "index", "--no-progress-bar"),
        *("--cwd", str(folder / "program")),
        *("--output", str(folder / "index.scip")),
        str(folder),
    ]
    try:
        # It ends with 1 if it has indexed nothing, and then there is no file.
        subprocess.run(command, cwd=folder, capture_output=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ResolverFailed(f"did not run: {type(error).__name__}") from None
