"""`sidecypher mcp` and what others wrote for MCP: the Inspector and the conformance suite."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import shared_cache

NPM = Path(__file__).parents[2] / "npm" / "mcp"

PASSED = {
    "server-initialize": 1,
    "ping": 1,
    "tools-list": 1,
    "tools-call-simple-text": 1,
    "tools-call-error": 1,
    "tools-call-with-progress": 1,
    "server-sse-multiple-streams": 2,
    "resources-list": 1,
    "prompts-list": 1,
    "dns-rebinding-protection": 2,
}
"""Number of checks by scenario. The others want what the server does not have: resources and
prompts with fixed names, pictures and sounds in answers, logging, completion, subscriptions, and
requests to the client.
"""


@pytest.fixture(scope="session")
def clients():
    """The folder `node_modules` of tests/npm/mcp."""
    return shared_cache.npm_packages("mcp")


def run(clients, program, *arguments, **environ):
    done = subprocess.run(
        [clients / ".bin" / program, *arguments],
        env=os.environ | environ,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["pipes", "http"])
def test_the_inspector_sees_and_calls_tools(clients, server, over_http, session, transport):
    """Over both transports it lists tools and resources and gets the rows of a call."""
    if transport == "pipes":
        where = [sys.executable, "-m", "sidecypher", "mcp", "--"]
        where += ["--allow", "test.*", "--allow", "runs.*"]
    else:
        where = [over_http.url, "--transport", "http"]
        where += ["--header", f"Authorization: {over_http.headers['Authorization']}"]

    def ask(*question):
        code, output, errors = run(
            clients, "mcp-inspector", "--cli", *where, "--method", *question, **server.environ
        )
        assert code == 0, errors
        return json.loads(output)

    tools = {tool["name"]: tool for tool in ask("tools/list")["tools"]}
    answer = ask("tools/call", "--tool-name", "test_count", "--tool-arg", "to=3")
    templates = ask("resources/templates/list")["resourceTemplates"]
    schema = ask("resources/read", "--uri", "sidecypher://schema")["contents"][0]

    assert tools["test_count"]["annotations"]["readOnlyHint"]
    assert answer["structuredContent"]["rows"] == [{"value": 0}, {"value": 1}, {"value": 2}]
    assert "sidecypher://runs/{id}/timeline.svg" in [each["uriTemplate"] for each in templates]
    assert schema["mimeType"] == "text/markdown"


@pytest.mark.slow
def test_the_conformance_suite_passes(clients, over_http, session, tmp_path):
    """Of the scenarios for servers, those pass that need nothing which the server lacks."""
    loader = (NPM / "bearer.mjs").as_uri()
    run(
        clients,
        "conformance",
        *("server", "--url", over_http.url, "--output-dir", str(tmp_path)),
        NODE_OPTIONS=f"--import={loader}",
        MCP_TEST_UNDICI=(clients / "undici" / "index.js").as_uri(),
        MCP_TEST_TOKEN=over_http.token,
    )

    results = {}
    for file in tmp_path.glob("*/checks.json"):
        name = file.parent.name.removeprefix("server-").partition("-202")[0]
        checks = json.loads(file.read_text())
        if all(check["status"] in {"SUCCESS", "INFO"} for check in checks):
            results[name] = sum(check["status"] == "SUCCESS" for check in checks)
    assert results == PASSED
