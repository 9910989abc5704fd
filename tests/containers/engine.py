"""What runs containers: Docker where it answers, else Podman with a folder of its own."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from containers.bases import make_bases
from containers.commands import done
from fix_waiting import wait_until

_PODMAN = ("podman", "runc", "netavark", "iptables", "catatonit", "mmdebstrap", "docker-compose")
_PLACES = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/lib/podman"))

# crun, Podman's default, refuses mixed control groups; without limits of their own, containers ask
# for more than root of some machines may give. What starts a dead container again looks for it in
# `libpod` below `graphroot`, whatever `static_dir` says. A command in a container leaves a process
# behind for five minutes unless told for how long; too short, and nobody learns its exit code.
_CONTAINERS_CONF = """
[containers]
default_ulimits = ["nofile=16384:16384", "nproc=4096:4096"]
[network]
network_config_dir = "{0}/networks"
[engine]
runtime = "runc"
exit_command_delay = 10
static_dir = "{0}/storage/libpod"
tmp_dir = "{0}/tmp"
volume_path = "{0}/volumes"
"""
_STORAGE_CONF = """
[storage]
driver = "{1}"
graphroot = "{0}/storage"
runroot = "{0}/run"
"""


class NoEngine(Exception):
    """Nothing here runs containers."""


@dataclass
class Docker:
    """A Docker engine that was there before; it pulls the public images.

    Attributes:
        compose: The command `docker compose`.
        images: Variables of docker/compose.yml that name other base images than the public ones.
        environ: What commands and clients need to find the engine.
        names_projects: Whether compose.yml may say the name of its project.
    """

    compose: tuple[str, ...] = ("docker", "compose")
    images: dict[str, str] = field(default_factory=dict)
    environ: dict[str, str] = field(default_factory=dict)
    names_projects: bool = True

    def check_health(self, container):
        """Do nothing: Docker checks by itself."""


@dataclass
class Podman(Docker):
    """Podman as root behind Docker's interface, with base images that are made here."""

    compose: tuple[str, ...] = ("docker-compose",)
    names_projects: bool = False

    def check_health(self, container):
        """Run a check, which Podman leaves to systemd, and so to nobody where there is none."""
        # It fails as long as the container is not healthy.
        with contextlib.suppress(subprocess.CalledProcessError):
            self.run("healthcheck", "run", container)

    def run(self, *arguments):
        return done(["podman", *arguments], env=os.environ | self.environ)


@contextlib.contextmanager
def running_engine(installation):
    """Yield what runs containers; of Podman nothing is left afterwards.

    Raises:
        NoEngine: There is neither.
    """
    if _docker_answers():
        yield Docker()
        return
    missing = [name for name in _PODMAN if not shutil.which(name, path=_PLACES)]
    if missing or os.getuid():
        why = f"{', '.join(missing)} not found" if missing else "Podman is used as root only"
        raise NoEngine(f"no Docker engine answers, and Podman cannot stand in: {why}")
    # Podman refuses long paths.
    with tempfile.TemporaryDirectory(prefix="sct-", dir="/tmp", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        yield from _podman(folder, installation)


def _docker_answers():
    with contextlib.suppress(FileNotFoundError):
        commands = (["docker", "info"], ["docker", "compose", "version"])
        return not any(
            subprocess.run(command, capture_output=True, check=False).returncode
            for command in commands
        )
    return False


def _podman(folder, installation):
    (folder / "containers.conf").write_text(_CONTAINERS_CONF.format(folder))
    socket = folder / "podman.sock"
    engine = Podman(
        environ={
            "CONTAINERS_CONF": str(folder / "containers.conf"),
            "CONTAINERS_STORAGE_CONF": str(folder / "storage.conf"),
            "BUILDAH_ISOLATION": "chroot",
            "DISABLE_HC_SYSTEMD": "true",
            "TMPDIR": str(folder),
            "DOCKER_HOST": f"unix://{socket}",
            "TESTCONTAINERS_CONNECTION_MODE": "docker_host",
            "TESTCONTAINERS_HOST_OVERRIDE": "127.0.0.1",
            "TESTCONTAINERS_RYUK_DISABLED": "true",
        }
    )
    _choose_driver(engine, folder)
    with (folder / "service.log").open("wb") as log:
        service = subprocess.Popen(
            ["podman", "system", "service", "--time=0", f"unix://{socket}"],
            env=os.environ | engine.environ,
            stdout=log,
            stderr=log,
        )
    try:
        wait_until(socket.exists)
        engine.images = make_bases(engine.run, installation, folder / "bases")
        yield engine
    finally:
        # Containers that share the network of others go first; the second time the others do.
        for _ in range(2):
            with contextlib.suppress(subprocess.CalledProcessError):
                engine.run("rm", "--all", "--force", "--volumes")
        _end(service)
        # What is left of commands would make and mount the storage anew.
        wait_until(lambda: not _processes(folder), 60)
        # Its own note of each image that it removes would come into a folder that it removes, too.
        engine.run("--events-backend=none", "system", "reset", "--force")


def _choose_driver(engine, folder):
    """Let Podman store layers by the best means that the file system of the folder allows."""
    conf = folder / "storage.conf"
    conf.write_text(_STORAGE_CONF.format(folder, "overlay"))
    try:
        engine.run("info")
    except subprocess.CalledProcessError:
        # There is no overlay on an overlay, as in a container. What was tried is remembered.
        shutil.rmtree(folder / "storage")
        conf.write_text(_STORAGE_CONF.format(folder, "vfs"))
        engine.run("info")


def _end(service):
    service.terminate()
    try:
        service.wait(60)
    except subprocess.TimeoutExpired:
        service.kill()
        service.wait(60)


def _processes(folder):
    """Return those of Podman that work for this folder."""
    found = psutil.process_iter(["cmdline"])
    return [each for each in found if str(folder) in " ".join(each.info["cmdline"] or [])]
