"""docker/compose.yml with procedures and secrets of tests, brought up by testcontainers."""

import contextlib
import secrets
import shutil
import socket
import subprocess
import sys
from functools import cached_property
from pathlib import Path

import docker
import neo4j
from containers.commands import done
from fix_waiting import is_served, wait_until
from testcontainers.compose import DockerCompose

ROOT = Path(__file__).parents[2]
SERVICES = ("loopback", "neo4j", "sidecar", "redis", "sync", "postgres", "sync-postgres")
_CHECKED = ("neo4j", "sidecar", "redis", "postgres")
USER = "7474"
GITHUB_TOKEN = "ghp_" + 36 * "t"

_TOLD = 4000
"""Characters of logs that a failure shows."""

# Images of its own, settings that tests count on, and a JVM that need not live long.
_SETTINGS = """
services:
  neo4j:
    image: {project}-neo4j
    environment:
      SIDECYPHER_QUEUE_LIMIT: 100
      SIDECYPHER_AVAILABILITY: test.off=OFF
      SIDECYPHER_TRACE_CONTEXT: "true"
      JAVA_TOOL_OPTIONS: -XX:TieredStopAtLevel=1
  sidecar:
    image: {project}-sidecar
    environment:
      SIDECYPHER_LOG_LEVEL: DEBUG
  sync:
    image: {project}-sidecar
  sync-postgres:
    image: {project}-sidecar
"""

_VARIABLES = {
    "COMPOSE_PROFILES": "redis,postgres",
    "SIDECYPHER_REDIS_URL": "redis://127.0.0.1:6379",
    "SIDECYPHER_POSTGRES_URL": "postgresql://postgres@127.0.0.1/postgres",
}


class _Compose(DockerCompose):
    """With the command of an engine, and the name of a project."""

    engine = None
    project = None

    @cached_property
    def compose_command_property(self):
        files = (word for file in self.compose_file_name for word in ("--file", file))
        return [*self.engine.compose, "--project-name", self.project, *files]


class Deployment:
    """The containers of docker/compose.yml.

    Attributes:
        project: Its name, and how the names of its images begin; no other project has it.
        password: Of the user neo4j.
        secrets: What must be in no output and no description of a container.
        bolt: Port of Neo4j on this machine.
    """

    def __init__(self, engine, folder):
        self.engine = engine
        self.folder = folder
        self.project = f"sidecypher-test-{secrets.token_hex(4)}"
        self.bolt, browser = free_ports(2)
        _prepare(folder, engine, {"BOLT_PORT": self.bolt, "BROWSER_PORT": browser})
        (folder / "test.yml").write_text(_SETTINGS.format(project=self.project))
        self.password = (folder / "secrets" / "neo4j-password").read_text()
        self.secrets = (self.password, GITHUB_TOKEN)
        self._compose = _Compose(
            folder, compose_file_name=["compose.yml", "github-token.yml", "test.yml"], wait=False
        )
        self._compose.engine = engine
        self._compose.project = self.project
        self._client = docker.from_env()

    @contextlib.contextmanager
    def up(self):
        """Build the images, start the containers and wait until all are healthy."""
        with contextlib.closing(self._client):
            try:
                self.command("build")
                self._compose.start()
                self.await_healthy()
                yield self
            except BaseException:
                # What went wrong is of more interest than what goes wrong after it.
                with contextlib.suppress(Exception):
                    self.down()
                raise
            self.down()
            assert self.parts() + self._images() == []

    def command(self, *arguments):
        """Run `docker compose`."""
        command = [*self._compose.compose_command_property, *arguments]
        return done(command, cwd=self.folder).stdout

    def down(self):
        """Remove containers, volumes, network and images."""
        # Podman removes no container while others share its network.
        self.command("rm", "--stop", "--force", *SERVICES[1:])
        self._compose.stop()
        for image in self._images():
            self._client.images.remove(image, force=True)

    def _images(self):
        """Return the ids of the project's images; those that others have replaced have no name."""
        images = self._client.images
        labelled = images.list(filters=self._labels())
        named = [each for each in images.list() if any(self.project in tag for tag in each.tags)]
        return sorted({each.id for each in labelled + named})

    def begin(self, service, *command):
        """Run a command in a container without waiting for it: the container may not outlive it."""
        self.container(service).exec_run(list(command), detach=True)

    def container(self, service):
        [found] = self._client.containers.list(all=True, filters=self._labels(service))
        return found

    def parts(self):
        """Return the names of the project's containers, volumes and networks."""
        only = self._labels()
        kinds = (self._client.containers, self._client.volumes, self._client.networks)
        options = ({"all": True}, {}, {})
        return [
            each.name
            for kind, option in zip(kinds, options, strict=True)
            for each in kind.list(filters=only, **option)
        ]

    def _labels(self, service=None):
        labels = [f"com.docker.compose.project={self.project}"]
        return {"label": labels + ([f"com.docker.compose.service={service}"] if service else [])}

    def await_healthy(self, *services):
        for service in services or _CHECKED:
            try:
                wait_until(lambda each=service: self._is_healthy(each), 180)
            except AssertionError as error:
                error.add_note(self.logs()[-_TOLD:])
                raise

    def _is_healthy(self, service):
        container = self.container(service)
        self.engine.check_health(container.name)
        container.reload()
        return container.attrs["State"]["Health"]["Status"] == "healthy"

    def run(self, service, *command):
        """Run a command in a container; return its exit code and what it printed."""
        done = self.container(service).exec_run(list(command), demux=True)
        out, err = done.output
        return subprocess.CompletedProcess(
            command, done.exit_code, (out or b"").decode(), (err or b"").decode()
        )

    def logs(self):
        return "\n".join(self.container(each).logs().decode() for each in SERVICES)

    def value_of(self, query):
        """Return the only value of the only row of a query."""
        with self.driver() as driver:
            [[value]] = driver.execute_query(query).records
        return value

    def is_served(self):
        """Tell whether a sidecar answers a call."""
        return is_served(lambda: self.value_of("CALL demo.greet('Ann') YIELD text") == "Hello Ann")

    def driver(self, **options):
        uri = f"bolt://127.0.0.1:{self.bolt}"
        return neo4j.GraphDatabase.driver(uri, auth=("neo4j", self.password), **options)


def _prepare(folder, engine, variables):
    """Fill a folder as a user would: wheel, procedures, secrets and variables."""
    shutil.copytree(ROOT / "docker", folder, ignore=shutil.ignore_patterns("secrets", "*.whl"))
    shutil.copytree(ROOT / "tests" / "procedures", folder / "procedures", dirs_exist_ok=True)
    lines = [
        f"{name}={value}\n" for name, value in (_VARIABLES | variables | engine.images).items()
    ]
    (folder / ".env").write_text("".join(lines))
    if not engine.names_projects:
        compose = (folder / "compose.yml").read_text()
        (folder / "compose.yml").write_text(compose.replace("name: sidecypher\n", "", 1))
    done([folder / "make-secrets.sh"])
    (folder / "secrets" / "github-token").write_text(GITHUB_TOKEN)
    uv = (sys.executable, "-m", "uv", "build", "--quiet", "--python", sys.executable)
    done([*uv, "--wheel", "--out-dir", folder, ROOT])


def free_ports(number):
    """Return some ports of loopback that nothing listens on."""
    with contextlib.ExitStack() as stack:
        taken = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(number)]
        return [each.getsockname()[1] for each in taken]
