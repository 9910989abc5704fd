"""The wheel that users install, and the source distribution that it can be built from."""

import re
import shutil
import sys
import tarfile
import tomllib
import zipfile
from email.parser import BytesParser
from io import BytesIO

import msgspec
import pytest
from fix_wheel import LOCK, LOCKED, ROOT, UV, build_with_uv, run_program

from sidecypher_plugin.builder import BuildInputs

POM = ROOT / "plugin-build" / "core" / "pom.xml"
FRIENDS = ("hypothesis", "pytest", "pytest-socket", "pytest-timeout")
OUTSIDE = """
    unit/runtime unit/schema/test_scripts.py unit/test_catalogue.py
    unit/test_environment.py unit/test_exports.py unit/test_registry.py
    unit/test_rows.py unit/test_settings.py
"""


def test_a_wheel_brings_all_that_is_no_python(wheel, core_jar):
    """Core, template, lock files, Cypher and samples are in the wheel; tests are not."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        core = archive.read("sidecypher_plugin/core.jar")

    assert core == core_jar.read_bytes()
    assert {
        "sidecypher/py.typed",
        "sidecypher/cli/demo/graph.cypher",
        "sidecypher/cli/demo/queries.cypher",
        "sidecypher/cli/demo/repository-graph.cypher",
        "sidecypher/cli/demo/repository-queries.cypher",
        "sidecypher/cli/demo/samples.json",
        "sidecypher/cli/project_template/greeting.py.j2",
        "sidecypher/cli/project_template/gitignore.j2",
        "sidecypher/operations/console/static/console.css",
        "sidecypher/operations/console/static/console.js",
        "sidecypher/operations/console/templates/layout.html.j2",
        "sidecypher/runtime/lock/current.json",
        "sidecypher/runtime/lock/lts.json",
        "sidecypher_plugin/templates/namespace.java.j2",
    } <= names
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {
        "sidecypher",
        "sidecypher_plugin",
        "sidecypher_procedures",
        "sidecypher_schema",
    }


def test_the_same_sources_give_the_same_wheel(wheel, tmp_path):
    """A wheel built from the clone has the bytes of one built from the source distribution."""
    build_with_uv(("--wheel",), tmp_path)

    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()


def test_whoever_builds_takes_the_builder_that_is_locked():
    """One version writes all wheels, and `make lock` cannot change it without `[build-system]`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    builders = project["build-system"]["requires"]

    assert all(re.fullmatch(r"[\w-]+==[\d.]+", each) for each in builders)
    assert all(f"\n{each} \\\n" in LOCK.read_text() for each in builders)


@pytest.mark.deep
def test_the_same_sources_give_the_same_core(core_jar, tmp_path):
    """Maven makes of the core's sources the same bytes again, in whatever folder they lie."""
    shutil.copytree(POM.parent, tmp_path / "core", ignore=shutil.ignore_patterns("target"))
    again = tmp_path / "core.jar"

    pom = tmp_path / "core" / "pom.xml"
    maven = ("mvn", "--batch-mode", "--quiet", "--file", pom, f"-Dcore.jar={again}", "-DskipTests")
    run_program(*maven, "package")

    assert again.read_bytes() == core_jar.read_bytes(), "other bytes; was `make core` run?"


def test_a_registry_takes_both(dist):
    """Metadata and README of wheel and sources are what PyPI shows; the wheel has no stray file."""
    built = [path for path in dist.iterdir() if path.suffix in {".whl", ".gz"}]

    run_program(sys.executable, "-m", "twine", "check", "--strict", *built)
    run_program(sys.executable, "-m", "check_wheel_contents", *dist.glob("*.whl"), cwd=ROOT)


def test_a_registry_shows_links_and_pictures_of_this_version(wheel):
    """Each link of the README leads to the project's address, at the tag of the version."""
    with zipfile.ZipFile(wheel) as archive:
        [metadata] = [name for name in archive.namelist() if name.endswith("/METADATA")]
        shown = BytesParser().parsebytes(archive.read(metadata))
    urls = dict(each.split(", ") for each in shown.get_all("Project-URL"))
    links = re.findall(r"(!?)\[[^\]]*\]\(([^)]+)\)", shown.get_payload())
    places = {("raw" if picture else "blob", target) for picture, target in links}

    assert shown["Description-Content-Type"] == "text/markdown"
    assert shown["License-Expression"] == "Apache-2.0"
    assert len(places) > 20
    assert [
        target
        for kind, target in places
        if not target.startswith(f"{urls['Source']}/{kind}/v{shown['Version']}/")
    ] == []
    assert all(url.startswith(urls["Source"]) for url in urls.values())


def test_no_code_of_neo4j_is_bundled(wheel, core_jar):
    """Every class in the wheel is ours or relocated into a package of ours."""
    with zipfile.ZipFile(wheel) as archive:
        jars = [name for name in archive.namelist() if name.endswith((".jar", ".zip"))]
    with zipfile.ZipFile(core_jar) as core:
        entries = [name for name in core.namelist() if not name.endswith("/")]

    assert jars == ["sidecypher_plugin/core.jar"]
    assert {name.split("/")[0] for name in entries} == {"META-INF", "io"}
    assert all(name.startswith(("META-INF/", "io/sidecypher/core/")) for name in entries)
    assert not [name for name in entries if "neo4j" in name.lower()]


def test_what_is_relocated_is_told_with_its_licence(wheel):
    """The notice names each library of the core and its version; the licences lie in its jar."""
    with zipfile.ZipFile(wheel) as archive:
        [notice] = [name for name in archive.namelist() if name.endswith("/licenses/NOTICE")]
        assert notice.replace("NOTICE", "LICENSE") in archive.namelist()
        told = archive.read(notice).decode()
        with zipfile.ZipFile(BytesIO(archive.read("sidecypher_plugin/core.jar"))) as core:
            texts = {name for name in core.namelist() if name.startswith("META-INF/")}
    pom = POM.read_text(encoding="utf-8")
    versions = dict(re.findall(r"<(py4j|jackson)\.version>(.+?)<", pom))
    relocated = re.findall(r"<shadedPattern>(.+?)<", pom)

    assert f"Py4J {versions['py4j']}" in told
    assert f"jackson-core {versions['jackson']}" in told
    assert len(relocated) == 2
    assert all(package in told for package in relocated)
    assert set(re.findall(r"META-INF/[\w-]+", told)) <= texts
    assert texts - {"META-INF/", "META-INF/MANIFEST.MF"} <= set(
        re.findall(r"META-INF/[\w-]+", told)
    )


@pytest.mark.slow
def test_a_source_distribution_has_what_a_build_and_a_test_need(dist):
    """What the clone has is in it, and the built core."""
    [sources] = dist.glob("*.tar.gz")
    with tarfile.open(sources) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    assert {
        *("LICENSE", "NOTICE", "Makefile", "mkdocs.yml", "requirements.lock"),
        *("deploy/compose.yml", "docker/compose.yml", "docs/install.md"),
        "benchmarks/first_rows.py",
        *("plugin-build/core/pom.xml", "plugin-build/sidecypher_plugin/core.jar"),
        *("tests/integration/test_wheel.py", "tools/relock.py"),
    } <= names


@pytest.mark.slow
def test_uvx_runs_the_command_without_packages_of_development(wheel, clean_environment):
    """`uvx --from WHEEL sidecypher --help` works in an environment with its dependencies alone."""
    tool = (*UV, "tool", "run", "--isolated", "--python", sys.executable, *LOCKED)

    told = run_program(*tool, "--from", wheel, "sidecypher", "--help", env=clean_environment).stdout

    assert "Usage: sidecypher" in told


@pytest.mark.deep
def test_unit_tests_pass_outside_the_clone(install, clean_environment, tmp_path):
    """With the installed wheel, and no source beside them, tests of what reads files pass."""
    environment = install("otel", *FRIENDS)
    tests = tmp_path / "tests"
    shutil.copytree(ROOT / "tests" / "unit", tests / "unit")
    # Not those of all fixtures, which want every package of development.
    (tests / "conftest.py").write_text('pytest_plugins = ["fix_waiting"]\n')
    for fixtures in ("fix_waiting.py", "fix_describe.py"):
        shutil.copy(ROOT / "tests" / fixtures, tests)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    clean_environment.pop("PYTHONPATH", None)

    chosen = [tests / each for each in OUTSIDE.split()]
    command = (environment / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen)
    told = run_program(*command, cwd=tmp_path, env=clean_environment).stdout

    assert " passed" in told


@pytest.mark.deep
def test_only_python_is_needed(bare, installation, eclipse_compiler, tmp_path):
    """Without Java, Maven and Node the wheel with `embedded` runs the demo to its end."""
    home = tmp_path / "home"

    done = run_program(*bare, f"SIDECYPHER_HOME={home}", "sidecypher", "demo")

    for shown in ("The lamp flickers in", "Give the lamp a", "lighthouse", "Everything is stopped"):
        assert shown in done.stdout
    with zipfile.ZipFile(home / "neo4j" / "plugins" / "sidecypher.jar") as plugin:
        made_from = plugin.read("META-INF/sidecypher/build.json")
    assert msgspec.json.decode(made_from, type=BuildInputs).compiler.startswith("ecj ")
