"""What runs containers: Docker where it answers, else Podman with a folder of its own."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from containers.bases import make_bases
from fix_waiting import wait_until

_PODMAN = ("podman", "runc", "netavark", "iptables", "catatonit", "mmdebstrap", "docker-compose")
_PLACES = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/lib/podman"))

# crun, Podman's default, refuses mixed control groups; without limits of their own, containers ask
# for more than root of some machines may give.
_CONTAINERS_CONF = """
[containers]
default_ulimits = ["nofile=16384:16384", "nproc=4096:4096"]
[network]
network_config_dir = "{0}/networks"
[engine]
runtime = "runc"
static_dir = "{0}/static"
tmp_dir = "{0}/tmp"
volume_path = "{0}/volumes"
"""
_STORAGE_CONF = """
[storage]
driver = "overlay"
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
        self.run("healthcheck", "run", container, check=False)

    def run(self, *arguments, check=True):
        command = ["podman", *map(str, arguments)]
        return subprocess.run(
            command, env=os.environ | self.environ, capture_output=True, text=True, check=check
        )


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
    (folder / "storage.conf").write_text(_STORAGE_CONF.format(folder))
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
            engine.run("rm", "--all", "--force", "--volumes", check=False)
        service.terminate()
        service.wait()
        engine.run("system", "reset", "--force", check=False)
