"""`python -m benchmarks.commands`: waiting times of the command line."""

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

_SIDECYPHER = (sys.executable, "-m", "sidecypher")
_PROCEDURE = """
from sidecypher import Row, procedure


class Text(Row):
    value: str


@procedure("kg.word")
def {body}({parameters}) -> Text:
    return Text(value="word")
"""


def main() -> None:
    """Measure and print; missing jars are fetched before."""
    with TemporaryDirectory(prefix="sidecypher-bench-") as folder:
        environ = _environ(Path(folder))
        _print("--help", [_seconds("--help", environ=environ) for _ in range(10)])
        _seconds("plugin", "build", environ=environ)
        ups = []
        for _ in range(3):
            ups.append(_seconds("up", environ=environ))
            _seconds("down", environ=environ)
        _print("up, warm", ups)
        _print("dev, from a saved signature until Neo4j offers it", _renewals(folder, environ))


def _environ(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SIDECYPHER_")}
    (folder / "my").mkdir()
    (folder / "my/word.py").write_text(_PROCEDURE.format(body="word", parameters=""))
    own = {"SIDECYPHER_HOME": str(folder / "home"), "SIDECYPHER_PROCEDURES": str(folder / "my")}
    return {**kept, **own}


def _seconds(*arguments: str, environ: dict[str, str]) -> float:
    begun = time.monotonic()
    subprocess.run([*_SIDECYPHER, *arguments], env=environ, capture_output=True, check=True)
    return time.monotonic() - begun


def _renewals(folder: str, environ: dict[str, str]) -> list[float]:
    """Change a signature while `dev` runs, with the temporary Neo4j and without."""
    found = []
    for option in ("--check", "--no-check"):
        with subprocess.Popen(
            [*_SIDECYPHER, "dev", option],
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as dev:
            _await(dev, "Watching")
            begun = time.monotonic()
            parameters = f"more: int = 1, {option.strip('-').replace('-', '_')}: int = 2"
            Path(folder, "my/word.py").write_text(
                _PROCEDURE.format(body="word", parameters=parameters)
            )
            _await(dev, "Neo4j offers")
            found.append(time.monotonic() - begun)
            dev.send_signal(2)
            dev.communicate()
    return found


def _await(dev: "subprocess.Popen[str]", text: str) -> None:
    for line in dev.stdout or ():
        if text in line:
            return
    raise SystemExit("`dev` has ended")


def _print(what: str, seconds: list[float]) -> None:
    values = ", ".join(f"{each:.2f}" for each in seconds)
    print(f"{what}: median {statistics.median(seconds):.2f} s ({values})", flush=True)


if __name__ == "__main__":
    main()
