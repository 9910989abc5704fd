"""GitHub's OpenAPI description, and Prism, which holds requests and answers against it."""

import json
import re
import subprocess
from contextlib import contextmanager

import httpx
import pytest
from fix_waiting import wait_until

# All that the client asks of the REST API; of the whole description Prism needs 6 s to start.
_OPERATIONS = {
    "/app/installations/{installation_id}/access_tokens": "post",
    "/rate_limit": "get",
    "/repos/{owner}/{repo}": "get",
    "/repos/{owner}/{repo}/actions/runs": "get",
    "/repos/{owner}/{repo}/commits": "get",
    "/repos/{owner}/{repo}/issues": "get",
    "/repos/{owner}/{repo}/issues/{issue_number}": "get",
    "/repos/{owner}/{repo}/issues/{issue_number}/comments": "get",
    "/repos/{owner}/{repo}/pulls": "get",
    "/repos/{owner}/{repo}/pulls/{pull_number}": "get",
    "/repos/{owner}/{repo}/pulls/{pull_number}/files": "get",
    "/repos/{owner}/{repo}/pulls/{pull_number}/reviews": "get",
    "/repos/{owner}/{repo}/releases": "get",
    "/search/code": "get",
    "/search/issues": "get",
    "/search/repositories": "get",
}
_LISTENING = re.compile(r"listening on (http://\S+)")


class Description:
    """What GitHub says of the operations that the client uses.

    Attributes:
        document: It, as OpenAPI has it.
    """

    def __init__(self, whole):
        self._whole = whole
        paths = {path: {verb: whole["paths"][path][verb]} for path, verb in _OPERATIONS.items()}
        self.document = {
            **{name: whole[name] for name in ("openapi", "info", "servers")},
            "paths": paths,
            "components": self._components(paths),
        }

    def _components(self, json):
        """What JSON refers to, directly or not, by kind and name."""
        found = {}
        left = list(_references(json))
        while left:
            _, _, kind, name = left.pop().split("/")
            if name not in found.setdefault(kind, {}):
                component = found[kind][name] = self._whole["components"][kind][name]
                left += _references(component)
        return found

    def example(self, path, status="200"):
        """The answer that GitHub gives as an example for one of the paths."""
        answer = self._operation(path)["responses"][status]
        return self._value(next(iter(answer["content"]["application/json"]["examples"].values())))

    def parameters(self, path):
        """The names that the query of one of the paths may have."""
        told = map(self._resolve, self._operation(path).get("parameters", ()))
        return {each["name"] for each in told if each["in"] == "query"}

    def path_of(self, url):
        """Which of the paths a URL is; None if it is none."""
        for path in _OPERATIONS:
            if re.fullmatch(re.sub(r"{\w+}", "[^/]+", path), url.path):
                return path
        return None

    def _operation(self, path):
        return self._whole["paths"][path][_OPERATIONS[path]]

    def _resolve(self, json):
        if "$ref" not in json:
            return json
        _, _, kind, name = json["$ref"].split("/")
        return self._whole["components"][kind][name]

    def _value(self, example):
        """The value of an example; in two of them it is a reference to another example."""
        value = self._resolve(example)["value"]
        return self._value(value) if "$ref" in value else value


def _references(json):
    if isinstance(json, dict):
        if isinstance(json.get("$ref"), str):
            yield json["$ref"]
        for value in json.values():
            yield from _references(value)
    elif isinstance(json, list):
        for value in json:
            yield from _references(value)


def _mend(json):
    """Let GitHub's answers, and Prism, be right where the description is not.

    A homepage may be an empty text, which is not a URI. What may be null has to have a type, or
    Prism takes any answer that the schema is a part of.
    """
    if isinstance(json, dict):
        homepage = json.get("homepage")
        if isinstance(homepage, dict):
            homepage.pop("format", None)
        if json.get("nullable") is True and "anyOf" in json and "type" not in json:
            del json["nullable"]
            json["anyOf"].append({"enum": [None]})
        for value in json.values():
            _mend(value)
    elif isinstance(json, list):
        for value in json:
            _mend(value)


@pytest.fixture(scope="session")
def description(openapi_file):
    """GitHub's description of its REST API."""
    whole = json.loads(openapi_file.read_bytes())
    _mend(whole["components"]["schemas"])
    return Description(whole)


@pytest.fixture(scope="session")
def prism_before(npm_packages, description, tmp_path_factory):
    """Give what runs Prism before a server: the URL to use in place of that server's.

    What is not as GitHub describes it becomes an error of Prism, be it a request or an answer.
    """
    folder = tmp_path_factory.mktemp("prism")
    document = folder / "description.json"
    document.write_text(json.dumps(description.document), "utf-8")
    program = npm_packages / "@stoplight/prism-cli/dist/index.js"

    @contextmanager
    def running(url):
        log = folder / f"{httpx.URL(url).port}.log"
        command = ["node", program, "proxy", document, url, "--errors", "--port", "0"]
        with (
            log.open("wb") as output,
            subprocess.Popen(command, stdout=output, stderr=output) as process,
        ):
            try:
                wait_until(lambda: process.poll() is not None or _address(log), 120)
                yield _address(log) or pytest.fail(log.read_text("utf-8"))
            finally:
                process.terminate()

    return running


def _address(log):
    found = _LISTENING.search(log.read_text("utf-8"))
    return found and found[1]


@pytest.fixture
def violations(description, monkeypatch):
    """What was not as GitHub describes it, in requests that go through Prism and their answers.

    Prism passes parameters that the description does not have; they are found here. A test that
    leaves something in here fails.
    """
    found = []

    async def look(response):
        if response.headers.get("content-type") == "application/problem+json":
            content = await response.aread()
            # Whoever asked reads it as it came.
            response.stream = httpx.ByteStream(content)
            response.is_stream_consumed = response.is_closed = False
            told = json.loads(content)
            found.append(f"{response.request.method} {response.url.path}: {told}")
        path = description.path_of(response.url)
        unknown = set(response.url.params) - (description.parameters(path) if path else set())
        if unknown:
            found.append(f"{response.request.method} {response.url.path}: unknown {unknown}")

    make = httpx.AsyncClient

    def watched(**options):
        client = make(**options)
        # The client's own hooks stay.
        client.event_hooks["response"].append(look)
        return client

    monkeypatch.setattr(httpx, "AsyncClient", watched)
    yield found
    assert found == []
