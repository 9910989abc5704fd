"""docs/existing-docker.md: an image of Neo4j that knows nothing of sidecypher, and a sidecar."""

import contextlib
import secrets
import shutil
import sys

import docker
import pytest
from containers.commands import done
from containers.deployment import free_ports
from docs.pages import ROOT, blocks
from fix_waiting import wait_until

PAGE = ROOT / "docs" / "existing-docker.md"
COMPOSE = "docker compose --file deploy/compose.yml"


class Existing:
    """The containers of deploy/compose.yml, with a name of their own."""

    def __init__(self, engine, folder, image):
        self._engine = engine
        self._folder = folder
        self.project = f"sidecypher-test-{secrets.token_hex(4)}"
        [bolt] = free_ports(1)
        neo4j_image = engine.images.get("NEO4J_IMAGE", "neo4j:5.26-community")
        (folder / ".env").write_text(
            f"BOLT_PORT={bolt}\nNEO4J_IMAGE={neo4j_image}\nSIDECAR_IMAGE={image}\n"
        )
        if not engine.names_projects:
            compose = folder / "compose.yml"
            compose.write_text(compose.read_text().replace("name: graph\n", "", 1))

    def compose(self, *arguments):
        """Run `docker compose` in the folder of the page's file."""
        command = [*self._engine.compose, "--project-name", self.project, *arguments]
        return done(command, cwd=self._folder).stdout

    def call(self, *words):
        """Return what the page's last command prints, or nothing while Neo4j starts."""
        with contextlib.suppress(Exception):
            return self.compose("exec", "-T", "sidecar", *words)
        return ""


@pytest.fixture
def existing(engine, deployment, core_jar, tmp_path):
    """The page's containers; `deployment` has built the image of the sidecar."""
    folder = tmp_path / "deploy"
    shutil.copytree(ROOT / "deploy", folder)
    shutil.copytree(deployment.folder / "secrets", folder / "secrets")
    [module] = blocks("python", pages=[PAGE])
    for name in ("procedures", "plugins"):
        (folder / name).mkdir()
    (folder / "procedures" / "hello.py").write_text(module.text)
    build = ("plugin", "build", "--no-check", "--procedures", folder / "procedures")
    jar = folder / "plugins" / "sidecypher.jar"
    done([sys.executable, "-m", "sidecypher", *build, "--output", jar])
    found = Existing(engine, folder, f"{deployment.project}-sidecar")
    try:
        found.compose("up", "--detach")
        yield found
    finally:
        found.compose("down", "--volumes")
    assert (
        docker.from_env().containers.list(
            all=True, filters={"label": f"com.docker.compose.project={found.project}"}
        )
        == []
    )


def test_an_image_that_knows_nothing_of_sidecypher_serves_a_first_row(existing):
    """Jar, variable and volume are all that it gets; the call goes through the unix socket."""
    words = next(each.text for each in blocks("sh", pages=[PAGE]) if "exec sidecar" in each.text)
    command = words.strip().removeprefix(f"{COMPOSE} exec sidecar ").split()

    wait_until(lambda: "Hello Ann" in existing.call(*command), 240)

    told = existing.compose("logs", "sidecar")
    assert "no unix socket" not in told
    facts = existing.call("sidecypher", "call", "sidecypher.info", "--json")
    assert '"pid"' in facts
    assert "Migrations" in existing.call("sidecypher", "migrate", "info", "--database", "neo4j")
