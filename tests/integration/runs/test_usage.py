"""Token counts and costs of events, and `runs.usage`, on a real Neo4j."""

import pytest
from neo4j.exceptions import ClientError

SUMS = ("inputTokens", "outputTokens", "cost", "events")


@pytest.fixture
def counted(runs):
    """A run of two models and two agents, with usage on each type of event that has it."""
    run = runs.new()
    events = [
        {"type": "userMessage", "content": "hello"},
        {"type": "reasoning", "inputTokens": 10, "metadata": {"model": "large"}},
        {"type": "llmResponse", "id": "answer", "inputTokens": 100, "outputTokens": 20,
         "cost": 0.5, "executedBy": "ann", "metadata": {"model": "large"}},
        {"type": "tool.call", "outputTokens": 7, "cost": 0.25, "executedBy": "bob",
         "metadata": {"model": "small"}},
        {"type": "llm.completed", "cost": 1},
    ]  # fmt: skip
    runs.call("appendMany", run, events)
    return run


def sums(rows, by):
    return {row[by]: tuple(row[name] for name in SUMS) for row in rows}


def test_usage_is_summed_by_run_model_and_agent(runs, counted):
    """Without an option there is one row; a model or an agent that is not given is null."""
    [whole] = runs.call("usage", counted)
    models = runs.call("usage", counted, {"by": "model"})
    agents = runs.call("usage", counted, {"by": "agent"})

    assert whole == {
        "id": counted, "inputTokens": 110, "outputTokens": 27, "cost": 1.75, "events": 4,
        "model": None, "agentId": None,
    }  # fmt: skip
    assert sums(models, "model") == {
        "large": (110, 20, 0.5, 2), "small": (0, 7, 0.25, 1), None: (0, 0, 1.0, 1)
    }  # fmt: skip
    assert sums(agents, "agentId") == {
        "ann": (100, 20, 0.5, 1), "bob": (0, 7, 0.25, 1), None: (10, 0, 1.0, 2)
    }  # fmt: skip
    assert [row["model"] for row in models] == ["large", "small", None]


def test_a_run_without_usage_sums_to_zero(runs):
    """One row of zeros, no model; a run that is not there has no row."""
    run = runs.new()
    runs.append(run, "llmResponse", content="free")

    assert sums(runs.call("usage", run), "id") == {run: (0, 0, 0.0, 0)}
    assert runs.call("usage", run, {"by": "model"}) == []
    assert runs.call("usage", "none") == []


def test_usage_is_part_of_an_event(runs, counted):
    """`runs.events` has it, a retry with other numbers is another event, and a change is found."""
    told = {row["id"]: row["event"] for row in runs.events(counted)}["answer"]
    assert {name: told[name] for name in SUMS[:3]} == {
        "inputTokens": 100, "outputTokens": 20, "cost": 0.5
    }  # fmt: skip
    assert runs.one("verify", counted)["ok"]

    with pytest.raises(ClientError, match=r"SC-905.*other content"):
        runs.append(counted, "llmResponse", id="answer", inputTokens=100)
    runs.session.run("MATCH (e:Event {id: 'answer'}) SET e.cost = 0.0").consume()
    assert runs.one("verify", counted)["firstBadSeq"] == 3


def test_a_deleted_event_still_counts(runs, counted):
    """Its text and model go, what it cost does not."""
    runs.one("deleteEvent", "answer")

    assert runs.one("usage", counted)["cost"] == 1.75
    assert sums(runs.call("usage", counted, {"by": "model"}), "model")[None] == (100, 20, 1.5, 2)
    assert runs.one("verify", counted)["ok"]


def test_a_fork_has_its_own_usage(runs, counted):
    """What it shares was paid for by the run that it was forked from."""
    fork = runs.one("fork", counted, 5)["id"]
    runs.append(fork, "llmResponse", cost=2.0)

    assert runs.one("usage", fork)["cost"] == 2.0
    assert runs.one("usage", counted)["cost"] == 1.75


def test_a_plan_has_usage(runs):
    """A model writes plans too."""
    run = runs.new()
    runs.one("plan.create", run, {"content": "Add a cache.", "outputTokens": 12})

    assert runs.one("usage", run)["outputTokens"] == 12


@pytest.mark.parametrize(
    ("event", "error"),
    [
        ({"type": "llmResponse", "inputTokens": -1}, r"`event.inputTokens`.*0"),
        ({"type": "llmResponse", "outputTokens": 10**12 + 1}, r"`event.outputTokens`.*10{12}"),
        ({"type": "llmResponse", "outputTokens": 1.5}, r"`event.outputTokens`.*INTEGER"),
        ({"type": "llmResponse", "cost": -0.5}, r"`event.cost`.*0"),
        ({"type": "llmResponse", "cost": float("nan")}, r"`event.cost`"),
        ({"type": "llmResponse", "cost": float("inf")}, r"`event.cost`"),
        ({"type": "llmResponse", "cost": "1"}, r"`event.cost`.*STRING"),
        ({"type": "userMessage", "cost": 1.0}, r"no `cost`"),
        ({"type": "tool.result", "inputTokens": 1}, r"no `inputTokens`"),
    ],
)
def test_bad_usage_is_refused(runs, event, error):
    """The error names the field, and nothing is stored."""
    run = runs.new()
    with pytest.raises(ClientError, match=f"SC-204.*{error}"):
        runs.one("append", run, event)
    with pytest.raises(ClientError, match=r"SC-204.*`options.by`"):
        runs.call("usage", run, {"by": "day"})
    assert runs.events(run) == []
