"""Which compiler makes the plugin."""

from sidecypher.cli import prepare
from sidecypher.settings import load_settings


def test_the_compiler_of_a_jdk_is_taken_where_there_is_one(javac, tmp_path):
    """With a JDK on the machine nothing is fetched."""
    compiler = prepare.find_jdk(load_settings({"cache_dir": tmp_path})).compiler

    assert compiler.command[0] == str(javac)
    assert list(tmp_path.iterdir()) == []


def test_without_a_jdk_the_compiler_is_fetched(monkeypatch, tmp_path):
    """The one jar of Eclipse's compiler is fetched, and the Java of the lane runs it."""
    monkeypatch.setattr(prepare, "find_javac", lambda: None)

    jdk = prepare.find_jdk(load_settings({"cache_dir": tmp_path}))

    assert [jar.name for jar in tmp_path.rglob("*.jar")] == ["ecj-3.40.0.jar"]
    assert jdk.compiler.command[0] == str(jdk.java.executable)
    assert jdk.compiler.version() == "ecj 3.40.0"
