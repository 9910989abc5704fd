"""Jars built by the real compiler from the real core, and what is left when a build fails."""

import os
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from sidecypher.protocol.catalogue import (
    Catalogue,
    ColumnEntry,
    DefaultEntry,
    ParameterEntry,
    ProcedureEntry,
)
from sidecypher_plugin.builder import (
    BuiltPlugin,
    _install,
    build,
    is_current,
    read_catalogue,
    read_inputs,
)
from sidecypher_plugin.compiler import Compiler, javac
from sidecypher_plugin.errors import CompilerMissing, CoreJarMissing, PluginBuildError
from sidecypher_plugin.generator import render

GOLDEN = Path(__file__).parents[2] / "golden" / "plugin"
Make = Callable[..., ProcedureEntry]
Build = Callable[..., BuiltPlugin]


@pytest.fixture(scope="module")
def plugin(
    core_jar: Path, jdk_compiler: Compiler, neo4j_classpath: list[Path]
) -> Callable[..., BuiltPlugin]:
    """Builds a plugin from the real parts, some of which a test may exchange."""

    def build_plugin(catalogue: Catalogue, destination: Path, **changes: object) -> BuiltPlugin:
        parts = {
            "core_jar": core_jar,
            "compiler": jdk_compiler,
            "classpath": neo4j_classpath,
            **changes,
        }
        return build(catalogue, destination=destination, **parts)

    return build_plugin


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    """Three procedures in two namespaces."""
    return Catalogue.from_json((GOLDEN / "github.json").read_bytes())


@pytest.fixture(scope="module")
def built(
    plugin: Build, catalogue: Catalogue, tmp_path_factory: pytest.TempPathFactory
) -> BuiltPlugin:
    """A plugin that tests may read, not change."""
    return plugin(catalogue, tmp_path_factory.mktemp("built") / "sidecypher.jar")


@pytest.fixture
def old_jar(tmp_path: Path) -> Path:
    """Stands for the plugin of an earlier build."""
    jar = tmp_path / "sidecypher.jar"
    jar.write_bytes(b"old")
    return jar


@pytest.fixture(params=["jdk_compiler", "eclipse_compiler"])
def compiler(
    request: pytest.FixtureRequest, jdk_compiler: Compiler, eclipse_compiler: Compiler
) -> Compiler:
    """Each compiler: that of a JDK, and the one for machines without."""
    # Both are arguments, so that what must be fetched is so before sockets are refused.
    return {"jdk_compiler": jdk_compiler, "eclipse_compiler": eclipse_compiler}[request.param]


def fake_javac(folder: Path, answer: str) -> Compiler:
    program = folder / "javac"
    program.write_text(f"#!/bin/sh\necho '{answer}'\n")
    program.chmod(0o755)
    return javac(program)


def test_a_plugin_holds_core_stubs_and_catalogue(
    built: BuiltPlugin, catalogue: Catalogue, core_jar: Path
) -> None:
    """The jar has the core's classes, one stub per namespace, its rows, and the catalogue."""
    with zipfile.ZipFile(built.path) as jar, zipfile.ZipFile(core_jar) as core:
        names = set(jar.namelist())
        classes = {name for name in core.namelist() if name.endswith(".class")}
        assert jar.testzip() is None
        assert Catalogue.from_json(jar.read("META-INF/sidecypher/catalogue.json")) == catalogue

    assert {name for name in names if name.startswith("io/sidecypher/generated/")} == {
        "io/sidecypher/generated/Github_0.class",
        "io/sidecypher/generated/Github_0$Row0.class",
        "io/sidecypher/generated/Github_0$Row1.class",
        "io/sidecypher/generated/Kg_1.class",
        "io/sidecypher/generated/Kg_1$Row0.class",
    }
    assert {name for name in classes if "versions/" not in name} <= names


def test_the_catalogue_of_a_plugin_can_be_read(built: BuiltPlugin, catalogue: Catalogue) -> None:
    """A jar tells which procedures it was built for."""
    assert read_catalogue(built.path) == catalogue


def test_a_damaged_jar_has_no_catalogue(old_jar: Path) -> None:
    """What is not a plugin is refused by name, with the way out."""
    with pytest.raises(PluginBuildError, match=r"`sidecypher\.jar` is damaged") as caught:
        read_catalogue(old_jar)

    assert caught.value.hint == "Build it again with `sidecypher plugin build`."


def test_a_plugin_is_a_plain_jar(built: BuiltPlugin) -> None:
    """No module, nothing multi-release, no leftovers of the core's packaging, no folders."""
    with zipfile.ZipFile(built.path) as jar:
        manifest, *rest = jar.namelist()
        assert manifest == "META-INF/MANIFEST.MF"
        assert b"Multi-Release" not in jar.read(manifest)
        assert rest == sorted(set(rest))
        assert {entry.date_time for entry in jar.infolist()} == {(1980, 1, 1, 0, 0, 0)}

    for name in rest:
        assert not name.endswith(("module-info.class", "/"))
        assert not name.startswith(("META-INF/versions/", "META-INF/maven/"))


def test_core_packaging_is_left_behind(
    plugin: Build, catalogue: Catalogue, core_jar: Path, tmp_path: Path
) -> None:
    """Of what a core's jar may hold besides classes, nothing reaches Neo4j's class loader."""
    crowded = tmp_path / "core.jar"
    crowded.write_bytes(core_jar.read_bytes())
    unwanted = [
        *("module-info.class", "META-INF/versions/21/module-info.class", "META-INF/KEY.SF"),
        *("META-INF/KEY.RSA", "META-INF/maven/pom.xml", "empty/"),
    ]
    with zipfile.ZipFile(crowded, "a") as archive:
        for name in unwanted:
            archive.writestr(name, "")

    built = plugin(catalogue, tmp_path / "sidecypher.jar", core_jar=crowded)

    with zipfile.ZipFile(built.path) as jar:
        assert not set(unwanted) & set(jar.namelist())


@pytest.mark.slow
def test_equal_inputs_make_equal_bytes(
    plugin: Build, catalogue: Catalogue, compiler: Compiler, tmp_path: Path
) -> None:
    """A second build in another place gives the same bytes, whichever compiler made both."""
    first = plugin(catalogue, tmp_path / "one.jar", compiler=compiler)
    again = plugin(catalogue, tmp_path / "plugins" / "other.jar", compiler=compiler)

    assert again.path.read_bytes() == first.path.read_bytes()
    assert (again.sha256, again.inputs) == (first.sha256, first.inputs)


def test_every_class_is_one_of_java_17(
    plugin: Build, catalogue: Catalogue, compiler: Compiler, tmp_path: Path
) -> None:
    """Core and stubs have the class file level of Java 17, whichever compiler made the stubs."""
    built = plugin(catalogue, tmp_path / "a.jar", compiler=compiler)

    with zipfile.ZipFile(built.path) as jar:
        classes = [name for name in jar.namelist() if name.endswith(".class")]
        levels = {int.from_bytes(jar.read(name)[6:8]) for name in classes}
    assert any(name.startswith("io/sidecypher/generated/") for name in classes)
    assert max(levels) == 61


def test_compilers_tell_their_version(jdk_compiler: Compiler, eclipse_compiler: Compiler) -> None:
    """Name and version of the compiler are among what a plugin was made from."""
    assert re.fullmatch(r"javac (1[7-9]|2\d)[\w.]*", jdk_compiler.version())
    assert eclipse_compiler.version() == "ecj 3.40.0"


def test_a_built_plugin_is_current(
    built: BuiltPlugin, catalogue: Catalogue, core_jar: Path, jdk_compiler: Compiler
) -> None:
    """A jar need not be built again while its inputs stay what they were."""
    inputs = read_inputs(catalogue, core_jar=core_jar, compiler=jdk_compiler)

    assert is_current(built.path, inputs)


@pytest.mark.parametrize("part", ["catalogue", "core", "generator", "compiler"])
def test_other_inputs_are_not_current(built: BuiltPlugin, part: str) -> None:
    """A change of any input asks for a new jar."""
    assert not is_current(built.path, msgspec.structs.replace(built.inputs, **{part: "other"}))


def test_damaged_jars_are_not_current(built: BuiltPlugin, tmp_path: Path) -> None:
    """A jar that is missing, cut short, changed in one byte, or no jar, is built again."""
    whole = built.path.read_bytes()
    changed = bytearray(whole)
    changed[len(whole) // 2] ^= 0xFF
    jar = tmp_path / "sidecypher.jar"

    assert not is_current(jar, built.inputs)
    for damaged in (b"", b"no jar", whole[:-100], bytes(changed)):
        jar.write_bytes(damaged)
        assert not is_current(jar, built.inputs)


@pytest.mark.slow
def test_the_widest_procedures_compile(
    plugin: Build, entry: Make, compiler: Compiler, tmp_path: Path
) -> None:
    """The limits that the generator allows are limits that compilers and a class file allow."""
    wide = [
        entry(
            f"kg.p{index}",
            description="\0" * 60_000,
            parameters=tuple(
                ParameterEntry(f"p{number}", "MAP", default=DefaultEntry("{}"))
                for number in range(254)
            ),
            columns=tuple(
                ColumnEntry(f"c{number}", "LIST<" * 8 + "MAP" + ">" * 8) for number in range(254)
            ),
        )
        for index in range(3)
    ]
    long_name = entry(
        f"{'n' * 198}.x",
        parameters=(ParameterEntry("a", "STRING", default=DefaultEntry("é" * 30_000)),),
    )

    catalogue = Catalogue.build([*wide, long_name])

    assert plugin(catalogue, tmp_path / "wide.jar", compiler=compiler).path.is_file()


@pytest.mark.parametrize("case", ["all", "hostile", "types"])
def test_golden_sources_compile_without_warnings(
    case: str,
    core_jar: Path,
    jdk_compiler: Compiler,
    neo4j_classpath: list[Path],
    tmp_path: Path,
) -> None:
    """What the golden files show is what javac accepts, with every lint on."""
    sources = render(Catalogue.from_json((GOLDEN / f"{case}.json").read_bytes()))
    strict = tmp_path / "javac"
    strict.write_text(f'#!/bin/sh\nexec "{jdk_compiler.command[0]}" -Werror "$@"\n')
    strict.chmod(0o755)
    (tmp_path / "work").mkdir()

    classes = javac(strict).compile(
        sources, classpath=[core_jar, *neo4j_classpath], folder=tmp_path / "work"
    )

    assert len(classes) > len(sources)


def test_a_refused_stub_is_named(
    catalogue: Catalogue,
    core_jar: Path,
    compiler: Compiler,
    neo4j_classpath: list[Path],
    tmp_path: Path,
) -> None:
    """When a compiler refuses a source, the error names the procedure and keeps its own words."""
    sources = {
        path: source.replace("Long stars", "Lnog stars")
        for path, source in render(catalogue).items()
    }

    with pytest.raises(PluginBuildError, match=r"`github\.getRepository`") as caught:
        compiler.compile(sources, classpath=[core_jar, *neo4j_classpath], folder=tmp_path)

    assert caught.value.code == "SC-401"
    assert "Lnog" in caught.value.details["compiler"]
    assert str(tmp_path) not in caught.value.details["compiler"]


def test_a_refusal_of_everything_names_nothing(
    plugin: Build, catalogue: Catalogue, compiler: Compiler, old_jar: Path
) -> None:
    """An error that belongs to no procedure, such as a missing API, blames none; the jar stays."""
    with pytest.raises(PluginBuildError, match="the procedures") as caught:
        plugin(catalogue, old_jar, compiler=compiler, classpath=[])

    assert "org.neo4j" in caught.value.details["compiler"]
    assert [file.read_bytes() for file in old_jar.parent.iterdir()] == [b"old"]


def test_a_missing_core_names_the_way_out(
    plugin: Build, catalogue: Catalogue, old_jar: Path, tmp_path: Path
) -> None:
    """Without the core's jar the error says how to make it."""
    with pytest.raises(CoreJarMissing, match=r"core\.jar") as caught:
        plugin(catalogue, old_jar, core_jar=tmp_path / "nowhere.jar")

    assert caught.value.hint == "Run `make core`."
    assert old_jar.read_bytes() == b"old"


def test_a_damaged_core_is_named(
    plugin: Build, catalogue: Catalogue, core_jar: Path, tmp_path: Path
) -> None:
    """A core's jar that was cut short is refused before the compiler sees it."""
    cut = tmp_path / "core.jar"
    cut.write_bytes(core_jar.read_bytes()[:1000])

    with pytest.raises(PluginBuildError, match="damaged"):
        plugin(catalogue, tmp_path / "sidecypher.jar", core_jar=cut)


def test_a_missing_api_jar_is_named(plugin: Build, catalogue: Catalogue, tmp_path: Path) -> None:
    """A jar of Neo4j that is not there is named by its file name, not its place."""
    with pytest.raises(PluginBuildError, match=r"`neo4j-x\.jar`") as caught:
        plugin(catalogue, tmp_path / "a.jar", classpath=[tmp_path / "neo4j-x.jar"])

    assert str(tmp_path) not in str(caught.value)


def test_no_compiler_names_the_way_out(
    plugin: Build, catalogue: Catalogue, old_jar: Path, tmp_path: Path
) -> None:
    """Where there is no compiler the error tells how another one is found."""
    with pytest.raises(CompilerMissing, match="no `javac` to run") as caught:
        plugin(catalogue, old_jar, compiler=javac(tmp_path / "nowhere" / "javac"))

    assert "JAVA_HOME" in caught.value.hint
    assert "17 or newer" in caught.value.hint
    assert old_jar.read_bytes() == b"old"


@pytest.mark.parametrize("answer", ["something else", ""])
def test_what_is_no_compiler_is_refused(
    plugin: Build, catalogue: Catalogue, tmp_path: Path, answer: str
) -> None:
    """A program that does not answer as the compiler does is refused."""
    with pytest.raises(CompilerMissing, match="does not report a version"):
        plugin(catalogue, tmp_path / "a.jar", compiler=fake_javac(tmp_path, answer))


def test_a_compiler_may_talk_before_its_version(
    catalogue: Catalogue, core_jar: Path, tmp_path: Path
) -> None:
    """What the JVM prints about its environment is not taken for the version."""
    program = fake_javac(tmp_path, "Picked up JAVA_TOOL_OPTIONS: -Xmx1g\njavac 21-ea")

    inputs = read_inputs(catalogue, core_jar=core_jar, compiler=program)
    assert inputs.compiler == "javac 21-ea"


def test_an_empty_catalogue_is_refused(plugin: Build, tmp_path: Path) -> None:
    """A plugin without procedures is a mistake."""
    with pytest.raises(PluginBuildError, match="no procedure"):
        plugin(Catalogue.build([]), tmp_path / "a.jar")


def test_a_jar_is_durable_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a loss of power Neo4j finds a whole jar, or the one from before."""
    synced, fsync, replace = [], os.fsync, Path.replace

    def noted(handle: int) -> None:
        synced.append(os.fstat(handle).st_ino)
        fsync(handle)

    def checked(part: Path, target: Path) -> Path:
        assert part.stat().st_ino in synced
        return replace(part, target)

    monkeypatch.setattr(os, "fsync", noted)
    monkeypatch.setattr(Path, "replace", checked)

    _install({"a": b"b"}, tmp_path / "plugin.jar")


def test_an_unwritable_place_is_named(plugin: Build, catalogue: Catalogue, tmp_path: Path) -> None:
    """A place that cannot be written gives a named error, and nothing is left behind."""
    (tmp_path / "plugins.jar").mkdir()

    with pytest.raises(PluginBuildError, match=r"`plugins\.jar` cannot be written"):
        plugin(catalogue, tmp_path / "plugins.jar")

    assert [file.name for file in tmp_path.iterdir()] == ["plugins.jar"]
