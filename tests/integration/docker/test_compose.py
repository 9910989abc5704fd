"""docker/compose.yml for real: images built, containers up, calls from one to the other."""

import json
import re
import shlex
import subprocess

import neo4j
import pytest
from containers.deployment import SERVICES, USER
from docs.pages import ROOT, blocks
from fix_waiting import wait_until

RUN_FOLDER = "/var/lib/sidecypher/run"
COMPOSE = "docker compose --file docker/compose.yml "

KILL = """
import json, os, signal
[sidecar] = json.load(open("/var/lib/sidecypher/run/sidecar.json"))["sidecars"]
os.kill(sidecar["pid"], signal.SIGKILL)
"""

UNFIT_RULE = """
CREATE (:User {id: 'ann'})
CREATE (e:Extraction {extractionId: 'x', createdAt: datetime(), method: 'rule'})
CREATE (e)-[:CREATED]->(:StyleRule {user: 'ann', scope: 'global', text: 'formal tone'})
"""

MORE = """
from sidecypher import Row, procedure

class Answer(Row):
    value: int

@procedure("demo.more")
def more(value: int) -> Answer:
    return Answer(value=value + 1)
"""


PUBLISH = """
import os
from sidecypher_procedures.sync.publisher import RunPublisher
with RunPublisher.connect(os.environ["SIDECYPHER_REDIS_URL"]) as publisher:
    publisher.publish("carried", {"type": "userMessage", "content": "by Redis"})
"""

ADD = """
import psycopg
from sidecypher_procedures.sync.postgres.outbox import PostgresOutbox
from sidecypher_procedures.sync.postgres.settings import postgres_url
with psycopg.connect(postgres_url()) as conn:
    PostgresOutbox().add(conn, "carried", {"type": "userMessage", "content": "by PostgreSQL"})
"""


def is_worker_there(deployment):
    """Tell whether a worker listens to PostgreSQL."""
    done = deployment.run("sidecar", "sidecypher", "sync", "postgres", "status", "--json")
    return done.returncode == 0 and json.loads(done.stdout)["workers"] == 1


@pytest.fixture(scope="module", autouse=True)
def tables(deployment):
    """The tables of the graph and of PostgreSQL, without which its worker ends again and again."""
    for command in ("migrate", "sync postgres init", "sync watch"):
        done = deployment.run("sidecar", "sidecypher", *command.split())
        assert done.returncode == 0, done.stderr
    wait_until(lambda: is_worker_there(deployment), 180)


def generations(deployment):
    """Tell which starts of the sidecar Neo4j finds: one, or none for a moment."""
    found = deployment.run("neo4j", "cat", f"{RUN_FOLDER}/sidecar.json")
    # The engine, busy with the container that died, may refuse to run a command in this one.
    told = json.loads(found.stdout) if found.stdout else {"sidecars": []}
    return [each["generation"] for each in told["sidecars"]]


def commands():
    """Return each command line of docs/docker.md once, but the one that removes everything."""
    found = blocks("sh", pages=[ROOT / "docs" / "docker.md"])
    lines = dict.fromkeys(line for block in found for line in block.text.splitlines())
    return [line for line in lines if line.startswith(COMPOSE) and " down" not in line]


def test_a_call_goes_from_neo4j_to_the_sidecar(deployment):
    """A procedure in the sidecar's container answers a query in Neo4j's."""
    assert deployment.value_of("CALL demo.greet('Ann') YIELD text") == "Hello Ann"


def test_nothing_but_what_compose_names_is_there(deployment):
    """The project has its containers, their volumes and one network; `down` leaves none."""
    names = [each.removeprefix(deployment.project)[1:] for each in deployment.parts()]
    parts = [re.sub(r"[_-]1$", "", each) for each in names]

    assert set(parts) == {*SERVICES, "data", "default", "home", "logs", "run"}


def test_a_trigger_of_apoc_asks_python(deployment):
    """After `sidecypher migrate` in the sidecar's container, a rule that is none is refused."""
    done = deployment.run("sidecar", "sidecypher", "migrate")

    assert done.returncode == 0, done.stderr
    with deployment.driver() as driver, pytest.raises(neo4j.exceptions.ClientError) as caught:
        driver.execute_query(UNFIT_RULE)
    assert "has no PREFERS" in caught.value.message


def test_redis_and_postgresql_carry_events_and_changes(deployment):
    """With both profiles, what is published or added is in the graph, and its changes in Redis."""
    deployment.value_of("CALL runs.create('test', {id: 'carried'}) YIELD id")

    for program in (PUBLISH, ADD):
        done = deployment.run("sidecar", "python", "-c", program)
        assert done.returncode == 0, done.stderr

    sent = "MATCH (e:Event {runId: 'carried', type: 'userMessage'}) RETURN count(e)"
    wait_until(lambda: deployment.value_of(sent) == 2, 60)
    changes = ("redis-cli", "xlen", "wf:changes")
    wait_until(lambda: int(deployment.run("redis", *changes).stdout) > 0, 60)


def test_a_killed_sidecar_comes_back(deployment):
    """A sidecar that dies is started again, and the calls that follow are served by it."""
    before = generations(deployment)

    deployment.begin("sidecar", "python", "-c", KILL)

    wait_until(lambda: generations(deployment) != before and deployment.is_served(), 120)
    deployment.await_healthy()


def test_changed_procedures_come_with_new_images(deployment):
    """`up --build` brings a new procedure to Neo4j, and only to the sidecar what a body does."""
    module = deployment.folder / "procedures" / "more.py"
    module.write_text(MORE)
    deployment.command("up", "--build", "--detach")
    deployment.await_healthy()

    assert deployment.value_of("CALL demo.more(41) YIELD value") == 42

    before = {service: deployment.container(service).id for service in SERVICES}
    module.write_text(MORE.replace("value + 1", "value + 2"))
    deployment.command("up", "--build", "--detach")
    deployment.await_healthy()

    assert deployment.value_of("CALL demo.more(41) YIELD value") == 43
    after = {service: deployment.container(service).id for service in SERVICES}
    assert {service for service in SERVICES if before[service] != after[service]} == {
        *("sidecar", "sync", "sync-postgres")
    }


def test_a_module_that_cannot_be_loaded_ends_the_build(deployment):
    """A broken module is named, no image is made, and what runs goes on."""
    broken = deployment.folder / "procedures" / "broken.py"
    broken.write_text("import nothing_of_this_name\n")
    try:
        with pytest.raises(subprocess.CalledProcessError) as caught:
            deployment.command("build", "neo4j")
    finally:
        broken.unlink()

    assert "nothing_of_this_name" in caught.value.stdout + caught.value.stderr
    assert deployment.is_served()


@pytest.mark.parametrize("service", SERVICES)
def test_no_container_may_do_more_than_it_must(deployment, service):
    """No container runs as root, has a capability, can get one, or is without limits."""
    status = deployment.run(service, "cat", "/proc/1/status").stdout
    facts = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    host = deployment.container(service).attrs["HostConfig"]

    users = set(facts["Uid"].split())
    assert users == {USER} or (service in {"redis", "postgres"} and "0" not in users)
    assert int(facts["CapEff"], 16) == int(facts["CapBnd"], 16) == 0
    assert facts["NoNewPrivs"] == "1"
    assert not host["Privileged"]
    for limit in ("Memory", "NanoCpus", "PidsLimit"):
        assert host[limit] > 0, limit


@pytest.mark.parametrize("service", ["loopback", "sidecar", "sync", "sync-postgres"])
def test_the_root_file_system_is_read_only(deployment, service):
    """Nothing can be written beside the run folder and /tmp."""
    for folder in ("/", "/opt", "/var/lib", "/usr/local/bin"):
        done = deployment.run(service, "touch", f"{folder}/new")

        assert "Read-only file system" in done.stderr


def test_the_run_folder_is_closed_to_others(deployment):
    """Token and key are open to the one user whom both containers have."""
    listed = deployment.run("neo4j", "stat", "--format=%n %a %u", RUN_FOLDER, f"{RUN_FOLDER}/token")

    assert listed.stdout.split("\n") == [
        f"{RUN_FOLDER} 700 {USER}",
        f"{RUN_FOLDER}/token 600 {USER}",
        "",
    ]


@pytest.mark.parametrize("service", SERVICES)
def test_no_secret_is_told(deployment, service):
    """Password and token are in no description, environment, image or log of a container."""
    container = deployment.container(service)
    environment = deployment.run(service, "sh", "-c", "cat /proc/[0-9]*/environ").stdout
    image = container.image
    told = json.dumps([container.attrs, image.attrs, image.history()]) + environment

    assert [secret for secret in deployment.secrets if secret in told + deployment.logs()] == []
    assert "SIDECYPHER_NEO4J_PASSWORD_FILE" in told or service != "sidecar"


def test_only_this_machine_reaches_neo4j(deployment):
    """Ports are published on loopback."""
    ports = deployment.container("loopback").attrs["HostConfig"]["PortBindings"]

    assert {binding["HostIp"] for found in ports.values() for binding in found} == {"127.0.0.1"}
    assert set(ports) == {"7687/tcp", "7474/tcp"}


def test_the_commands_of_the_page_work(deployment):
    """Each `docker compose` line of docs/docker.md does what it is shown for."""
    assert len(commands()) > 5
    for line in commands():
        words = shlex.split(line.removeprefix(COMPOSE))
        if words[0] == "--file":
            words = words[2:]
        if words[0] == "exec":
            # There is no terminal here.
            words.insert(1, "-T")

        deployment.command(*words)
    deployment.await_healthy()
