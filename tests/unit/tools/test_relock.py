import dataclasses
import sys
import textwrap

import pytest

from relock import Lane, relock
from sidecypher.runtime.lockfile import Lock

LANE = Lane(
    *("tiny", "1.0", (17,)),
    lib=("org.neo4j:neo4j:1.0",),
    plugins=("a.b:plug:2",),
    compiler=("c.d:compile:3",),
    flags=("-Xflag",),
    settings={"a.setting": "1"},
)

FAKE_MAVEN = """\
    #!{python}
    import pathlib, sys, zipfile
    options = dict(word[2:].split("=", 1) for word in sys.argv if word.startswith("-D"))
    jars = pathlib.Path(options["outputDirectory"])
    jars.mkdir()
    if options["excludeTransitive"] == "true":
        found = {{"a.b:plug:jar:2:compile": "plug-2"}}
        if jars.parent.name == "compiler":
            found = {{"c.d:compile:jar:3:compile": "compile-3"}}
    else:
        found = {{
            "org.neo4j:neo4j:jar:1.0:compile -- module neo4j": "neo4j-1.0",
            "io.netty:epoll:jar:linux-x86_64:4:runtime": "epoll-4-linux-x86_64",
        }}
    text = "The following files have been resolved:" + chr(10)
    for line, name in found.items():
        text += "   " + line + chr(10)
        info = zipfile.ZipInfo("META-INF/services/org.neo4j.server.startup.EntryPoint")
        with zipfile.ZipFile(jars / (name + ".jar"), "w") as jar:
            jar.writestr(info, "org.example.Main" + chr(10))
    pathlib.Path(options["outputFile"]).write_text(text)
    """


def script(folder, text):
    file = folder / "mvn"
    file.write_text(textwrap.dedent(text).format(python=sys.executable))
    file.chmod(0o755)
    return str(file)


def test_a_lane_becomes_a_sorted_lock(tmp_path):
    """What Maven resolved is written sorted, with place, classifier, hash, size and main class."""
    target = tmp_path / "tiny.json"

    lock = relock(LANE, target, mvn=script(tmp_path, FAKE_MAVEN))

    assert [(jar.place, jar.artifact) for jar in lock.jars] == [
        ("compiler", "c.d:compile:3"),
        ("lib", "io.netty:epoll:4:linux-x86_64"),
        ("lib", "org.neo4j:neo4j:1.0"),
        ("plugins", "a.b:plug:2"),
    ]
    assert lock.main_class == "org.example.Main"
    assert (lock.flags, lock.settings) == (("-Xflag",), {"a.setting": "1"})
    assert all(jar.size > 0 and len(jar.sha256) == 64 for jar in lock.jars)
    assert Lock.from_json(target.read_bytes()) == lock


def test_the_same_lane_gives_the_same_bytes(tmp_path):
    """A lock file can be made again from the same lane, byte for byte."""
    maven = script(tmp_path, FAKE_MAVEN)

    relock(LANE, tmp_path / "one.json", mvn=maven)
    relock(LANE, tmp_path / "two.json", mvn=maven)

    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()


def test_a_lane_may_have_neo4j_alone(tmp_path):
    """A lane without plugins and compiler is resolved without asking Maven for any."""
    lane = dataclasses.replace(LANE, plugins=(), compiler=())

    lock = relock(lane, tmp_path / "tiny.json", mvn=script(tmp_path, FAKE_MAVEN))

    assert {jar.place for jar in lock.jars} == {"lib"}


def test_a_failing_maven_changes_nothing(tmp_path):
    """When Maven fails its last lines are in the error and the lock file stays as it was."""
    target = tmp_path / "tiny.json"
    target.write_text("before")
    maven = script(tmp_path, "#!/bin/sh\necho no such artifact\nexit 1\n")

    with pytest.raises(RuntimeError, match="exit code 1:\nno such artifact"):
        relock(LANE, target, mvn=maven)

    assert target.read_text() == "before"


def test_no_maven_is_named(tmp_path):
    """Without Maven the error says what to install."""
    with pytest.raises(RuntimeError, match="Install Maven"):
        relock(LANE, tmp_path / "tiny.json", mvn="no-such-maven")
