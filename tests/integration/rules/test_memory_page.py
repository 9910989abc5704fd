"""docs/memory.md, followed from its first block to its last, with a recorded model."""

import hashlib
import json
import os
import socket
import subprocess
import sys
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
import shared_cache
from docs.pages import ROOT, blocks

from sidecypher.host.settings import load_settings

PAGE = blocks("python neo4j", "text", pages=[ROOT / "docs/memory.md"])
RECORDING = ROOT / "tests/data/rules/chat.json"
# Neo4j plans a statement when it is first asked it, which may take a while.
PATIENCE = {"SIDECYPHER_GRAPHRAG_TIMEOUT": "60", "SIDECYPHER_GRAPHRAG_WRITE_TIMEOUT": "60"}
END = "-- end of a program --"
RUN = f"""
import runpy, sys

for path in sys.argv[1:]:
    runpy.run_path(path, run_name="__main__")
    print({END!r}, end="")
"""
LOCK = ROOT / "tests/frameworks/requirements.lock"


@pytest.fixture(scope="module")
def frameworks():
    """A folder with the packages that the recipes import, installed once from their lock file."""

    def install(folder):
        target = ["--target", folder / "packages", "--python", sys.executable]
        options = ["--quiet", "--compile-bytecode", "--require-hashes"]
        command = [sys.executable, "-m", "uv", "pip", "install", *target, *options]
        subprocess.run([*command, "--requirements", LOCK], check=True, timeout=300)

    digest = hashlib.sha256(LOCK.read_bytes()).hexdigest()[:16]
    return shared_cache.cached(f"test-frameworks-{digest}", install) / "packages"


def said(messages):
    """Return messages without what differs from call to call."""
    return [{"role": each["role"], "content": each.get("content")} for each in messages]


class RecordedModel:
    """Answers that belong to exact conversations, as an API like OpenAI's gives them."""

    def __init__(self):
        self.recorded = json.loads(RECORDING.read_text(encoding="utf-8"))
        self.left = [*self.recorded]

    def answer(self, request):
        asked = said(request["body"]["messages"])
        for each in self.left:
            if request["path"] == "/v1/chat/completions" and each["messages"] == asked:
                self.left.remove(each)
                return 200, each["response"]
        return 404, {"error": {"message": f"nothing is recorded for {json.dumps(asked)}"}}


@pytest.fixture
def model(outside):
    """The recorded model, at a real address."""
    recorded = RecordedModel()
    outside.answer = recorded.answer
    return recorded


@pytest.fixture
def run_programs(server, frameworks, outside, clean_environment, tmp_path):
    """Run programs one after the other, with what the page exports; return what each printed.

    One process runs them all, since the frameworks take seconds to import.
    """
    environment = clean_environment | {
        "NEO4J_URI": server.facts["bolt"],
        "NEO4J_PASSWORD": server.password,
        "SIDECYPHER_GRAPHRAG_MODE": "REQUIRED",
        **PATIENCE,
        "OPENAI_BASE_URL": f"{outside.url}/v1",
        "OPENAI_API_KEY": "a key",
        "PYTHONPATH": str(frameworks),
    }

    def run(blocks):
        paths = [tmp_path / f"agent_{number}.py" for number in range(len(blocks))]
        for path, block in zip(paths, blocks, strict=True):
            path.write_text(block.text, encoding="utf-8")
        command = [sys.executable, "-c", RUN, *paths]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.split(END)[:-1]

    return run


@pytest.mark.slow
def test_every_program_of_the_page_prints_what_it_shows(session, model, run_programs):
    """Whoever runs the programs in their order sees what stands below each; no answer is unused."""
    programs = [(block, shown) for block, shown in pairwise(PAGE) if block.info == "python neo4j"]

    assert run_programs([block for block, _ in programs]) == [shown.text for _, shown in programs]
    assert model.left == []


@pytest.mark.deep
def test_the_commands_of_the_page_start_the_memory(tmp_path, clean_environment):
    """Whoever types the commands in an account without a home can run the first program."""
    [commands] = blocks("sh", pages=[ROOT / "docs/memory.md"])
    port = free_port()
    environment = clean_environment | {
        "HOME": str(tmp_path),
        # What was downloaded for other tests.
        "XDG_CACHE_HOME": str(load_settings({}).cache_dir.parent),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        **PATIENCE,
    }
    (tmp_path / "agent.py").write_text(PAGE[0].text, encoding="utf-8")
    agent = f"NEO4J_URI=bolt://127.0.0.1:{port} python agent.py > shown\n"
    script = commands.text.replace("7687", str(port)) + agent
    run = partial(subprocess.run, env=environment, cwd=tmp_path, check=True, timeout=400)

    try:
        run(["bash", "-ec", script])
    finally:
        run(["sidecypher", "down"])
    assert (tmp_path / "shown").read_text(encoding="utf-8") == PAGE[1].text


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def test_the_first_rule_takes_six_lines():
    """From nothing to the first remembered rule a reader writes at most six lines of Python."""
    lines = [line for line in PAGE[0].text.splitlines() if line]

    assert len(lines) <= 6
