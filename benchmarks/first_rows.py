"""`python -m benchmarks.first_rows`: time of a new user from `pip install` to first rows."""

import os
import subprocess
import sys
import time
import venv
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.figures import Bar, Figure, summarise
from benchmarks.measures import Samples
from benchmarks.report import table

_ROOT = Path(__file__).parents[1]
_LEFT_OUT = ("SIDECYPHER_", "JAVA", "PYTHON", "VIRTUAL_ENV")
_ROW = "│"
"""First character of each row in the tables that the demo prints."""

FIGURES = (
    Figure("cold", "first rows, nothing fetched before", "s", bar=Bar(300)),
    Figure("warm", "first rows, packages and jars in caches", "s", bar=Bar(30)),
    Figure("install", "of that `pip install`", "s", lambda s: s["warm_install"]),
)


def measure() -> Samples:
    """Install the wheel twice, each time for a new user, and the second time with the caches."""
    with TemporaryDirectory(prefix="sidecypher-bench-") as folder:
        _run([sys.executable, "-m", "uv", "build", "--quiet", "--out-dir", folder, str(_ROOT)])
        [wheel] = Path(folder).glob("*.whl")
        cold = _first_rows(wheel, Path(folder), "cold")
        return cold | _first_rows(wheel, Path(folder), "warm")


def _first_rows(wheel: Path, folder: Path, name: str) -> Samples:
    place = folder / name
    venv.create(place / "venv", with_pip=True)
    commands = place / "venv" / "bin"
    # Other variables stay, for example proxy settings.
    kept = {name: each for name, each in os.environ.items() if not name.startswith(_LEFT_OUT)}
    environ = kept | {
        "PATH": str(commands),
        "HOME": str(place),
        "PIP_CACHE_DIR": str(folder / "pip"),
        "SIDECYPHER_HOME": str(place / "home"),
        "SIDECYPHER_CACHE_DIR": str(folder / "jars"),
    }
    begun = time.monotonic()
    _run([str(commands / "pip"), "install", "--quiet", f"{wheel}[embedded]"], environ)
    installed = time.monotonic()
    demo = [str(commands / "sidecypher"), "demo"]
    with subprocess.Popen(demo, env=environ, stdout=subprocess.PIPE, text=True) as process:
        lines = iter(process.stdout)
        if not any(line.startswith(_ROW) for line in lines):
            raise SystemExit("error: `sidecypher demo` printed no rows")
        shown = time.monotonic()
        for _ in lines:
            pass
    return {name: shown - begun, f"{name}_install": installed - begun}


def _run(command: list[str], environ: dict[str, str] | None = None) -> None:
    subprocess.run(command, env=environ, stdin=subprocess.DEVNULL, check=True)


def main() -> None:
    """Measure once, since Neo4j is downloaded, and print the table."""
    print(table(summarise([measure()], FIGURES)))


if __name__ == "__main__":
    main()
