"""The benchmark's own plugin: native procedures, bare Py4J, and the clock."""

import importlib.util
from pathlib import Path
from tempfile import TemporaryDirectory

from sidecypher.runtime.installation import Installation
from sidecypher.runtime.java import Javas
from sidecypher_plugin.compiler import javac
from sidecypher_plugin.jar import read_core, write_jar

_SOURCES = Path(__file__).parent / "java"


def build_jar(installation: Installation, destination: Path) -> None:
    """Compile `benchmarks/java` into one jar, with the classes of the Py4J that pip installed."""
    py4j = _py4j_jar()
    program = Javas().javac()
    if program is None:
        raise SystemExit("error: the benchmark needs a JDK, 17 or newer")
    with TemporaryDirectory() as folder:
        classes = javac(program).compile(
            {path.name: path.read_text(encoding="ascii") for path in _SOURCES.glob("*.java")},
            classpath=[*installation.jars("lib"), py4j],
            folder=Path(folder),
        )
    with destination.open("wb") as target:
        write_jar(target, read_core(py4j) | classes)


def _py4j_jar() -> Path:
    spec = importlib.util.find_spec("py4j")
    if spec is None or spec.origin is None:
        raise SystemExit("error: Py4J is not installed")
    # The wheel puts its jar into `share` of the environment, next to `lib`.
    for parent in Path(spec.origin).parents:
        for jar in parent.glob("share/py4j/py4j*.jar"):
            return jar
    raise SystemExit("error: the installed Py4J brings no jar")
