"""Which compiler makes the plugin."""

import functools
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from sidecypher.cli import prepare
from sidecypher.host.settings import load_settings
from sidecypher.runtime.download import fetch
from sidecypher.runtime.java import Javas
from sidecypher.runtime.lockfile import load_compiler_lock


def test_the_compiler_of_a_jdk_is_taken_where_there_is_one(javac, tmp_path):
    """With a JDK on the machine nothing is fetched."""
    compiler = prepare.find_jdk(load_settings({"cache_dir": tmp_path})).compiler

    assert compiler.command[0] == str(javac)
    assert list(tmp_path.iterdir()) == []


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_arguments):
        pass


@pytest.fixture
def mirror(tmp_path):
    """A Maven repository of this machine that has the compiler alone."""
    fetched = fetch(load_compiler_lock(), load_settings({}).cache_dir)
    [jar], [file] = fetched.lock.jars, fetched.jars("compiler")
    served = tmp_path / "mirror" / jar.path
    served.parent.mkdir(parents=True)
    served.symlink_to(file)
    handler = functools.partial(_Quiet, directory=tmp_path / "mirror")
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_without_a_jdk_the_compiler_is_fetched(monkeypatch, tmp_path, mirror):
    """The one jar of Eclipse's compiler is fetched, and the Java of the lane runs it."""
    monkeypatch.setattr(Javas, "javac", lambda _javas: None)
    monkeypatch.setenv("SIDECYPHER_MAVEN_URL", mirror)
    cache = tmp_path / "cache"

    jdk = prepare.find_jdk(load_settings({"cache_dir": cache}))

    assert [jar.name for jar in cache.rglob("*.jar")] == ["ecj-3.40.0.jar"]
    assert jdk.compiler.command[0] == str(jdk.java.executable)
    assert jdk.compiler.version() == "ecj 3.40.0"
