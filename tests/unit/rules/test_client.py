"""The client of the memory without any Neo4j: modes, arguments, settings, extractors, search."""

import asyncio
import inspect
import json
import logging
import socket
import subprocess
import sys
from concurrent.futures import Future
from datetime import UTC, datetime
from unittest.mock import Mock

import pytest
from neo4j.exceptions import Neo4jError

from sidecypher import CallError
from sidecypher_procedures.rules.client.connection import _error_of
from sidecypher_procedures.rules.client.memory import AsyncMemoryClient, MemoryClient
from sidecypher_procedures.rules.client.model import CircuitBreaker, ClientSettings
from sidecypher_procedures.rules.client.search import (
    DisabledSearch,
    LocalSearch,
    SearchResult,
    search_provider,
)
from sidecypher_procedures.rules.errors import (
    ClientSettingsError,
    InvalidArgument,
    InvalidInput,
    InvalidRule,
    MemoryUnavailable,
    RuleTaken,
    ScopeChanged,
    UnknownExtraction,
    UnknownRule,
)

MODES = ("OFF", "OPTIONAL", "REQUIRED")
RULE, SOURCE = {"userId": "ann", "text": "formal tone"}, {"method": "rule"}
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SAID = {"userId": "ann", "userMessage": "Apollo uses Neo4j. Be formal."}

_OFF = """
import json, sys

opened = []
sys.addaudithook(lambda event, _: opened.append(event) if event.startswith("socket.") else None)
from sidecypher_procedures.rules.client import AsyncMemoryClient, MemoryClient, search_provider

async def ask(answers):
    async with AsyncMemoryClient() as memory:
        answers.append(await memory.context({"userId": "ann"}))

with MemoryClient() as memory:
    answers = [
        memory.context({"userId": "ann", "prompt": "hello"}),
        memory.add({"userId": "ann", "text": "formal tone"}, {"method": "rule"}),
        memory.remember({"userId": "ann", "text": "hello"}, extractor=lambda texts: 1 / 0),
    ]
    search_provider(memory).search("ann", "hello")
try:
    # An event loop opens sockets itself. This needs none, since it never waits.
    ask(answers).send(None)
except StopIteration:
    pass
drivers = [name for name in ("neo4j", "py4j") if name in sys.modules]
print(json.dumps({"answers": answers, "drivers": drivers, "sockets": opened}))
"""


_FIRST_CALL = """
import asyncio, sys, threading

threads = []

def note(event, arguments):
    if event == "import" and arguments[0] == "neo4j":
        threads.append(threading.current_thread())

sys.addaudithook(note)
from sidecypher_procedures.rules.client import AsyncMemoryClient, ClientSettings

async def ask():
    settings = ClientSettings(mode="OPTIONAL", uri="bolt://127.0.0.1:1")
    async with AsyncMemoryClient(settings) as memory:
        await memory.context({"userId": "ann"})

asyncio.run(ask())
print(bool(threads), threading.main_thread() in threads)
"""


def refused():
    return pytest.raises(CallError, match="The argument `")


@pytest.fixture(params=MODES)
def memory(request):
    """A client in each mode; none of them may open a socket here."""
    with MemoryClient(ClientSettings(mode=request.param, uri="bolt://127.0.0.1:1")) as memory:
        yield memory


def test_a_judge_has_a_model():
    """An address without the name of a model asks nobody, so it is refused."""
    with pytest.raises(ValueError, match="judge_model"):
        ClientSettings(judge_url="http://127.0.0.1:1/v1")


def test_off_imports_no_driver_and_opens_no_socket(clean_environment):
    """OFF, the default, gives None and says so; it imports no driver and opens no socket."""
    environment = clean_environment | {"NEO4J_URI": "bolt://127.0.0.1:1"}
    done = subprocess.run(
        [sys.executable, "-c", _OFF], env=environment, capture_output=True, text=True, check=True
    )

    assert json.loads(done.stdout) == {"answers": [None] * 4, "drivers": [], "sockets": []}
    assert len(done.stderr.splitlines()) == 2
    assert done.stderr.count("set SIDECYPHER_GRAPHRAG_MODE to REQUIRED or OPTIONAL") == 2


def test_the_driver_is_not_imported_on_the_event_loop(clean_environment):
    """The import takes 0.2 s, in which the agent's other tasks would stand still."""
    done = subprocess.run(
        [sys.executable, "-c", _FIRST_CALL],
        env=clean_environment,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.split() == ["True", "False"]


@pytest.mark.parametrize("kind", [MemoryClient, AsyncMemoryClient])
def test_a_client_that_is_off_says_so_once(kind, caplog):
    """If no mode was chosen, the log names the variable to set; each client has one line."""
    client = kind()

    assert client.is_off
    [record] = caplog.records
    assert "SIDECYPHER_GRAPHRAG_MODE" in record.message
    if kind is MemoryClient:
        client.context({"userId": "ann"})
        client.context({"userId": "ann"})
    assert len(caplog.records) == 1


@pytest.mark.parametrize("mode", MODES)
def test_a_client_with_a_chosen_mode_says_nothing(mode, caplog, monkeypatch):
    """A mode that was chosen, be it OFF, needs no line, whether by argument or variable."""
    chosen = MemoryClient(ClientSettings(mode=mode))
    monkeypatch.setenv("SIDECYPHER_GRAPHRAG_MODE", mode)

    assert chosen.is_off == MemoryClient().is_off == (mode == "OFF")
    assert caplog.records == []


def test_both_clients_have_the_same_calls():
    """Each public call of one client is one of the other, with the same signature."""

    def calls(kind):
        return {
            name: inspect.signature(call)
            for name, call in vars(kind).items()
            if inspect.isfunction(call) and not name.startswith("_")
        }

    def is_coroutine(name):
        return inspect.iscoroutinefunction(getattr(AsyncMemoryClient, name))

    assert calls(MemoryClient) == calls(AsyncMemoryClient)
    assert all(map(is_coroutine, calls(AsyncMemoryClient)))
    assert not any(map(inspect.iscoroutinefunction, vars(MemoryClient).values()))


async def _find(_texts):
    return {"rules": [{"text": ""}]}


def test_an_extractor_may_be_a_coroutine_function():
    """Both clients wait for what an asynchronous extractor finds."""
    settings = ClientSettings(mode="REQUIRED")

    with refused():
        MemoryClient(settings).remember(SAID, extractor=_find)
    with refused():
        asyncio.run(AsyncMemoryClient(settings).remember(SAID, extractor=_find))


@pytest.mark.parametrize(
    ("values", "options"),
    [
        ({}, {}),
        ({"userId": "ann", "promt": "x"}, {}),
        ({"userId": "ann", "chunkIds": "x"}, {}),
        ({"userId": "ann"}, {"deadlineMs": 0}),
        ({"userId": "ann"}, {"hops": 3}),
    ],
)
def test_bad_arguments_of_a_context_raise_in_every_mode(memory, values, options):
    """What cannot be asked raises in every mode, before anything is connected."""
    with refused():
        memory.context(values, options)


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        ({"userId": "ann"}, SOURCE),
        (RULE, {}),
        (RULE | {"scope": "project"}, SOURCE),
        (RULE | {"since": NOON, "expiresAt": NOON}, SOURCE),
    ],
)
def test_bad_rules_raise_in_every_mode(memory, rule, source):
    """A rule or an extraction that cannot be used raises in every mode."""
    with refused():
        memory.add(rule, source)


@pytest.mark.parametrize(
    ("values", "extractor"),
    [
        ({"userId": "ann"}, None),
        ({"text": "hello"}, None),
        ({"userId": "ann", "text": 7}, None),
        ({"userId": "ann", "words": "hello"}, None),
        ({"userId": "ann", "entities": [{"nam": "x"}], "extraction": SOURCE}, None),
        (SAID | {"extraction": {"method": "llm"}}, None),
        (SAID | {"sessionId": 5}, None),
        (SAID | {"artifactId": "x" * 500}, None),
        (SAID | {"sessionId": 5}, dict),
        (SAID | {"entities": []}, dict),
        ({"userId": "ann"}, dict),
    ],
)
def test_bad_findings_raise_in_every_mode(memory, values, extractor):
    """What cannot be remembered raises in every mode."""
    with refused():
        memory.remember(values, extractor=extractor)


@pytest.mark.parametrize("wrong", ["ann", ["ann"], None, 5])
@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda memory, wrong: memory.context(wrong), "input"),
        (lambda memory, wrong: memory.context({"userId": "ann"}, wrong or 5), "options"),
        (lambda memory, wrong: memory.add(wrong, SOURCE), "rule"),
        (lambda memory, wrong: memory.add(RULE, wrong), "extraction"),
        (lambda memory, wrong: memory.add(RULE, SOURCE, wrong or 5), "options"),
        (lambda memory, wrong: memory.remember(wrong), "input"),
        (lambda memory, wrong: memory.remember(SAID, wrong or 5), "options"),
        (lambda memory, wrong: memory.forget(wrong), "what"),
    ],
)
def test_an_argument_that_is_not_a_map_is_named(memory, call, name, wrong):
    """Each call names the argument that is not a MAP."""
    with pytest.raises(CallError, match=rf"The argument `{name}` is .* where MAP is expected"):
        call(memory, wrong)


@pytest.mark.parametrize(
    ("rule_id", "limit"),
    [("r1", 0), ("r1", "3"), (5, 3)],
)
def test_bad_questions_to_a_judge_raise_in_every_mode(memory, rule_id, limit):
    """What no judge can be asked raises in every mode, before anything is connected."""
    with refused():
        memory.judge(rule_id, lambda pairs: [None] * len(pairs), limit=limit)


@pytest.mark.parametrize("mode", ["OPTIONAL", "REQUIRED"])
def test_a_client_that_is_closed_meanwhile_is_not_available(mode, monkeypatch):
    """Who got hold of a connection just before another thread closed it has no answer."""
    client = MemoryClient(ClientSettings(mode=mode, uri="bolt://127.0.0.1:1"))
    calls = client._calls
    connected = calls._connected

    def closed_meanwhile():
        connection = connected()
        client.close()
        return connection

    monkeypatch.setattr(calls, "_connected", closed_meanwhile)

    if mode == "OPTIONAL":
        assert client.context({"userId": "ann"}) is None
    else:
        with pytest.raises(MemoryUnavailable, match="closed"):
            client.context({"userId": "ann"})


def test_a_dns_that_fails_for_good_is_no_answer(monkeypatch):
    """The driver raises a ValueError then, which must not reach an agent in OPTIONAL."""

    def fail(*_, **__):
        raise socket.gaierror(socket.EAI_FAIL, "Non-recoverable failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    uri = "bolt://neo4j.example"

    with MemoryClient(ClientSettings(mode="OPTIONAL", uri=uri)) as memory:
        assert memory.context({"userId": "ann"}) is None
    with (
        MemoryClient(ClientSettings(mode="REQUIRED", uri=uri)) as memory,
        pytest.raises(MemoryUnavailable, match="gaierror"),
    ):
        memory.context({"userId": "ann"})


def failing(mode):
    """Return a client whose circuit is open, so that it never connects."""
    breaker = CircuitBreaker(1, 10.0, clock=lambda: 0.0)
    breaker.failed()
    return MemoryClient(ClientSettings(mode=mode), breaker=breaker)


def test_an_open_circuit_gives_none_or_raises(caplog):
    """While the circuit is open OPTIONAL gives None and a line, REQUIRED raises its one error."""
    with caplog.at_level(logging.WARNING):
        assert failing("OPTIONAL").context({"userId": "ann", "prompt": "a secret"}) is None

    assert [record.code for record in caplog.records] == ["SC-811"]
    assert "secret" not in caplog.text
    with pytest.raises(MemoryUnavailable):
        failing("REQUIRED").context({"userId": "ann"})


def test_an_extractor_is_not_asked_without_a_memory():
    """What would be thrown away is not asked for: neither when OFF nor with an open circuit."""
    asked = []

    def extractor(texts):
        asked.append(texts)
        return {}

    assert MemoryClient(ClientSettings()).remember(SAID, extractor=extractor) is None
    assert failing("OPTIONAL").remember(SAID, extractor=extractor) is None
    with pytest.raises(MemoryUnavailable):
        failing("REQUIRED").remember(SAID, extractor=extractor)
    assert asked == []


@pytest.mark.parametrize(
    ("found", "error"),
    [
        (ZeroDivisionError("a secret"), ZeroDivisionError),
        ({"facts": []}, InvalidInput),
        ({"entities": [{"title": "x"}]}, CallError),
        ({"rules": [{"text": ""}]}, CallError),
        ({"extraction": {"method": "rule"}}, InvalidInput),
        ([("entities",)], ValueError),
    ],
)
def test_an_extractor_that_fails(caplog, found, error):
    """Its failure is an error in REQUIRED, and None and a line in OPTIONAL; nothing is written."""

    def extractor(texts):
        if isinstance(found, Exception):
            raise found
        return found

    with pytest.raises(error) as caught:
        MemoryClient(ClientSettings(mode="REQUIRED")).remember(SAID, extractor=extractor)
    with caplog.at_level(logging.WARNING):
        assert (
            MemoryClient(ClientSettings(mode="OPTIONAL")).remember(SAID, extractor=extractor)
            is None
        )
    assert type(caught.value).__name__ in caplog.text
    assert "secret" not in caplog.text


def test_settings_come_from_the_environment(monkeypatch):
    """Four variables have the names that Neo4j's users know; the password is never shown."""
    for name, value in {
        "SIDECYPHER_GRAPHRAG_MODE": "OPTIONAL",
        "SIDECYPHER_GRAPHRAG_TIMEOUT": "0.5",
        "NEO4J_URI": "neo4j+s://graph.example:7687",
        "NEO4J_USERNAME": "agent",
        "NEO4J_PASSWORD": "a secret",
        "NEO4J_DATABASE": "memories",
    }.items():
        monkeypatch.setenv(name, value)
    settings = ClientSettings.load()

    assert (settings.mode, settings.timeout, settings.user) == ("OPTIONAL", 0.5, "agent")
    assert (settings.uri, settings.database) == ("neo4j+s://graph.example:7687", "memories")
    assert settings.password.get_secret_value() == "a secret"
    assert "secret" not in repr(settings)


@pytest.mark.parametrize("prefix", ["", "SIDECYPHER_"])
@pytest.mark.parametrize("argument", ["uri", "SIDECYPHER_NEO4J_URI"])
def test_a_password_is_sent_to_its_own_server_only(monkeypatch, prefix, argument):
    """If an argument names the server, the variables of another one do not apply to it."""
    user = "NEO4J_USER" if prefix else "NEO4J_USERNAME"
    monkeypatch.setenv(f"{prefix}NEO4J_URI", "bolt://prod")
    monkeypatch.setenv(f"{prefix}{user}", "agent")
    monkeypatch.setenv(f"{prefix}NEO4J_PASSWORD", "a secret")
    monkeypatch.setenv(f"{prefix}NEO4J_DATABASE", "memories")
    other = ClientSettings(**{argument: "bolt://other"})
    known = ClientSettings(**{argument: "bolt://other"}, password="its own")

    assert (other.uri, other.user) == ("bolt://other", "neo4j")
    assert (other.password, other.database) == (None, None)
    assert known.password.get_secret_value() == "its own"
    assert ClientSettings(database="x").password.get_secret_value() == "a secret"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SIDECYPHER_GRAPHRAG_MODE", "a secret"),
        ("SIDECYPHER_GRAPHRAG_TIMEOUT", "0"),
        ("SIDECYPHER_GRAPHRAG_MOOD", "OFF"),
    ],
)
def test_a_variable_that_cannot_be_used(monkeypatch, name, value):
    """An unknown variable or an unusable value is told by its name, never by its value."""
    monkeypatch.setenv(name, value)

    with pytest.raises(ClientSettingsError, match=name) as caught:
        MemoryClient()
    assert "secret" not in str(caught.value)


def test_an_address_that_cannot_be_used_is_told_by_its_variable(monkeypatch):
    """The hint has the variable that named it, and nothing has its value."""
    monkeypatch.setenv("NEO4J_URI", "http://a-secret")

    with pytest.raises(ClientSettingsError, match="`neo4j_uri` cannot be used") as caught:
        MemoryClient()
    assert "NEO4J_URI" in caught.value.hint
    assert "secret" not in f"{caught.value}{caught.value.hint}"


@pytest.mark.parametrize("rows", [[], [{"id": None}]], ids=["none", "one of an absent sidecar"])
def test_a_procedure_that_gave_nothing_has_not_answered(monkeypatch, rows):
    """One row is expected of each that writes: without it, the memory is not available."""
    memory = MemoryClient(ClientSettings(mode="REQUIRED"))
    answered = Future()
    answered.set_result(rows)
    monkeypatch.setattr(memory._calls, "_connected", lambda: Mock(submit=lambda *_, **__: answered))

    with pytest.raises(MemoryUnavailable, match="gave nothing"):
        memory.add({"userId": "ann", "text": "formal tone"}, {"method": "rule"})


@pytest.mark.parametrize(
    "error",
    [
        InvalidRule,
        InvalidArgument,
        UnknownRule,
        RuleTaken,
        InvalidInput,
        ScopeChanged,
        UnknownExtraction,
    ],
)
def test_an_error_of_the_caller_is_no_failure_of_the_memory(error):
    """What a procedure refuses is raised as its own class, which leaves the circuit closed."""
    found = _error_of(Neo4jError._hydrate_neo4j(message=f"[{error.code}] There is no `typo`"))

    assert type(found) is error
    assert isinstance(found, CallError)
    assert found.message == "There is no `typo`"


def test_disabled_search_is_deterministic():
    """Without a search the answer is always the same, and says why."""
    expected = SearchResult("disabled", (), "search is disabled")

    assert DisabledSearch().search("ann", "weather") == expected
    assert DisabledSearch().search("bob", "") == expected


def test_the_setting_chooses_the_search():
    """The setting `search` decides between none and a local one; OFF finds nothing."""
    off = MemoryClient(ClientSettings())
    local = MemoryClient(ClientSettings(search="local"))

    assert isinstance(search_provider(off), DisabledSearch)
    assert isinstance(search_provider(local), LocalSearch)
    assert search_provider(local).search("ann", "x").reason == "the memory is off"
    assert search_provider(local).search("ann", "?!").reason == "the query has no words"


@pytest.mark.parametrize(
    "arguments",
    [{"user_id": ""}, {"user_id": 7}, {"query": None}, {"most": 0}, {"most": 51}, {"most": "3"}],
)
@pytest.mark.parametrize(
    "provider", [DisabledSearch(), LocalSearch(MemoryClient(ClientSettings()))]
)
def test_a_search_that_cannot_be_done(provider, arguments):
    """A search without a user or a query, or for too much, is refused by every provider."""
    with refused():
        provider.search(**{"user_id": "ann", "query": "x", "most": 10} | arguments)
