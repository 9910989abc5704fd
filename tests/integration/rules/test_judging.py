"""A judge behind an API like OpenAI's, by real HTTP."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from pydantic import SecretStr

from sidecypher_procedures.rules.client import (
    ChatJudge,
    ClientSettings,
    MemoryClient,
)
from sidecypher_procedures.rules.errors import InvalidInput, JudgeUnavailable


class Api:
    """An API that answers as told, and keeps what it was asked."""

    def __init__(self):
        self.asked = []
        self.status = 200
        self.says = lambda pairs: {
            "pairs": [
                {
                    "number": pair["number"],
                    "contradict": "Proust" in pair["second"],
                    "score": 0.8,
                    "reason": "two styles",
                }
                for pair in pairs
            ]
        }

    def answer(self, body):
        pairs = json.loads(body["messages"][-1]["content"])
        self.asked.append((body["model"], len(pairs)))
        said = self.says(pairs)
        content = said if isinstance(said, str) else json.dumps(said)
        return {"choices": [{"message": {"content": content}}]}


@pytest.fixture
def api():
    found = Api()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            found.path, found.key = self.path, self.headers.get("Authorization")
            size = int(self.headers["Content-Length"])
            data = json.dumps(found.answer(json.loads(self.rfile.read(size)))).encode()
            self.send_response(found.status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    found.url = f"http://127.0.0.1:{server.server_port}/v1"
    yield found
    server.shutdown()
    server.server_close()


def test_pairs_are_asked_in_batches(api):
    """Fifty pairs make three requests with key and model, and each pair has its own answer."""
    judge = ChatJudge(api.url, "some-model", key=SecretStr("k"))
    others = [f"write like {'Proust' if number % 2 else 'Kafka'} {number}" for number in range(50)]
    found = judge([("write like Hemingway", other) for other in others])

    assert sorted(api.asked) == [("some-model", 10), ("some-model", 20), ("some-model", 20)]
    assert (api.path, api.key) == ("/v1/chat/completions", "Bearer k")
    assert [each is not None for each in found] == [bool(number % 2) for number in range(50)]
    assert found[1] == {"score": 0.8, "model": "some-model", "reason": "two styles"}


@pytest.mark.parametrize(
    "said",
    [
        "no JSON",
        "[]",
        {"pairs": [{"number": 1}]},
        {"pairs": [{"number": 1, "contradict": True, "score": 7}]},
    ],
)
def test_an_answer_that_cannot_be_read_is_refused(api, said):
    """A model that does not answer with the JSON it was asked for has judged nothing."""
    api.says = lambda _: said

    with pytest.raises(InvalidInput, match="some-model"):
        ChatJudge(api.url, "some-model")([("a", "b")])


def test_numbers_of_other_pairs_are_passed_over(api):
    """An answer about a pair that was not asked about concerns nobody."""
    api.says = lambda _: {"pairs": [{"number": 9, "contradict": True, "score": 1}]}

    assert ChatJudge(api.url, "some-model")([("a", "b")]) == [None]


def test_an_api_that_fails_is_told_without_its_key(api):
    """An error and a silence of the API name the model, and neither key nor text."""
    api.status = 500
    with pytest.raises(JudgeUnavailable, match="status 500") as error:
        ChatJudge(api.url, "some-model", key=SecretStr("secret"))([("a", "b")])
    with pytest.raises(JudgeUnavailable, match="does not answer"):
        ChatJudge("http://127.0.0.1:9/v1", "some-model")([("a", "b")])

    assert "secret" not in str(error.value)


def test_the_judge_of_the_settings_makes_a_suspicion(api, rules, server):
    """With an address in the settings a rule that the model doubts is contested, as suspected."""
    first = rules.add("write like Hemingway", 1)["id"]
    rules.add("write like Proust", 2)
    settings = ClientSettings(
        mode="REQUIRED",
        uri=server.facts["bolt"],
        password=server.password,
        timeout=10,
        judge_url=api.url,
        judge_model="some-model",
    )
    with MemoryClient(settings) as memory:
        standing = memory.judge(first)

    assert (standing["status"], standing["reason"]) == ("contested", "suspected")
    assert ClientSettings().judge_url is None
