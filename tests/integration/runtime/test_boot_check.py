import os
import subprocess
import tempfile
from zipfile import ZipFile

import pytest

from sidecypher.runtime.bootcheck import boot_check
from sidecypher.runtime.errors import PluginRefused
from sidecypher.runtime.java import Javas

SOURCE = """\
package example;

import java.util.stream.Stream;
import org.neo4j.procedure.Name;
import org.neo4j.procedure.Procedure;
import org.neo4j.procedure.UserFunction;

public class Echo {
    public record Row(TYPE value) {}

    @Procedure(name = "example.echo")
    public Stream<Row> echo(@Name("value") TYPE value) {
        return Stream.of(new Row(value));
    }

    @UserFunction(name = "example.same")
    public String same(@Name("value") String value) {
        return value;
    }
}
"""


@pytest.fixture(name="build")
def jar_builder(installation, tmp_path):
    """Build a plugin with a procedure, whose parameter has the given Java type, and a function."""

    def build(java_type):
        source = tmp_path / "Echo.java"
        source.write_text(SOURCE.replace("TYPE", java_type))
        class_path = os.pathsep.join(map(str, installation.jars("lib")))
        options = ["-proc:none", "--release", "17", "-cp", class_path, "-d", tmp_path]
        subprocess.run([Javas().javac(), *options, source], check=True, capture_output=True)
        jar = tmp_path / "example.jar"
        with ZipFile(jar, "w") as archive:
            for compiled in tmp_path.glob("example/*.class"):
                archive.write(compiled, compiled.relative_to(tmp_path))
        return jar

    return build


@pytest.fixture(name="check")
def checker(installation, java, monkeypatch, tmp_path):
    """Check a plugin, and see that its server's folder is gone afterwards."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))

    def check(jar, procedures, functions=()):
        try:
            boot_check(jar, procedures, functions, installation=installation, java=java)
        finally:
            assert list(scratch.iterdir()) == []

    return check


@pytest.mark.deep
def test_a_good_plugin_passes(check, build):
    """A plugin that Neo4j loads, with all that it should offer, raises nothing."""
    check(build("String"), {"example.echo", "apoc.trigger.install"}, {"example.same"})


@pytest.mark.slow
def test_a_missing_procedure_or_function_is_named(check, build):
    """What the plugin should offer and does not is named, functions with their brackets."""
    missing = r"does not offer `example\.lost`, `example\.echo\(\)` \(`example\.jar`\)"

    with pytest.raises(PluginRefused, match=missing):
        check(build("String"), {"example.echo", "example.lost"}, {"example.echo"})


@pytest.mark.slow
def test_a_procedure_that_neo4j_refuses_is_told_with_the_reason(check, build):
    """A parameter type that Neo4j does not know refuses the plugin, and the log says which."""
    with pytest.raises(PluginRefused) as refused:
        check(build("java.util.UUID"), {"example.echo"})

    assert not any("apoc" in line for line in refused.value.details["log_tail"])
    assert any("UUID" in line for line in refused.value.details["log_tail"])


@pytest.mark.deep
def test_a_jar_that_is_no_jar_is_refused(check, tmp_path):
    """A file that is not a zip archive is refused, with the log lines that name it."""
    broken = tmp_path / "broken.jar"
    broken.write_bytes(b"no jar at all" * 100)

    with pytest.raises(PluginRefused) as refused:
        check(broken, {"example.echo"})

    assert any("broken.jar" in line for line in refused.value.details["log_tail"])
