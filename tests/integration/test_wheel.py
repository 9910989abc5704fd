"""The wheel that users install."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PROBE = """
import sidecypher, sys
from pathlib import Path
from sidecypher.catalogue import Catalogue
from sidecypher.runtime import load_api_lock, load_lock
from sidecypher_plugin import CORE_JAR, render

assert Path(sidecypher.__file__).is_relative_to(sys.argv[1]), "not the wheel"
assert CORE_JAR.is_file(), "no core"
assert load_lock("lts").jars and load_lock("current").jars and load_api_lock().jars
assert render(Catalogue.from_json(Path(sys.argv[2]).read_bytes()))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory, core_jar):
    """The wheel of this clone."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder]
    subprocess.run([*build, ROOT], check=True)
    [built] = folder.glob("*.whl")
    return built


def test_a_wheel_brings_all_that_is_no_python(wheel, core_jar):
    """Core, template, lock files and Cypher are in the wheel; tests and benchmarks are not."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        core = archive.read("sidecypher_plugin/core.jar")

    assert core == core_jar.read_bytes()
    assert {
        "sidecypher/py.typed",
        "sidecypher/cli/demo/queries.cypher",
        "sidecypher/runtime/lock/current.json",
        "sidecypher/runtime/lock/lts.json",
        "sidecypher_plugin/templates/namespace.java.j2",
    } <= names
    assert not {name.partition("/")[0] for name in names} & {"tests", "benchmarks", "bridge"}


def test_what_a_wheel_brings_works(wheel, tmp_path):
    """Without the clone the package finds its core and its lock files, and writes stubs."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    golden = ROOT / "tests" / "golden" / "plugin" / "all.json"

    done = subprocess.run(
        [sys.executable, "-c", PROBE, tmp_path, golden],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
