"""docs/scale.md predicts what the model gives for its costs, and tells how wrong that is."""

import pytest
from benchmarks import sidecars
from benchmarks.partitions import MEASURED, MOST_WRONG, PREDICTED, Costs, Layout, predicted_rate
from docs.pages import rows, section

PAGE = "docs/scale.md"
CORES = 2


def as_number(text):
    return float(text.replace(" ", "").removesuffix("ms"))


@pytest.fixture
def costs():
    neo4j, sidecar, consumer, redis, waiting = (
        as_number(row[1]) / 1000 for row in rows(section(PAGE, "What a batch costs"), "where")
    )
    return Costs(neo4j, sidecar, redis, consumer, waiting)


def test_predictions_beyond_this_machine_are_those_of_the_model(costs):
    """Each line is a layout of the benchmark, with the rate that the costs of the page give."""
    table = rows(section(PAGE, "Beyond this machine"), "cores")
    shown = [tuple(map(int, row[:4])) for row in table]
    assert shown == [(at.cores, at.sidecars, at.partitions, at.consumers) for at in PREDICTED]
    rates = [predicted_rate(costs, each) for each in PREDICTED]
    # The costs of the page are rounded.
    assert [as_number(row[4]) for row in table] == pytest.approx(rates, rel=0.01)


def test_predictions_were_compared_with_runs(costs):
    """What was measured is predicted by the costs, and none is further off than the page says."""
    table = rows(section(PAGE, "Predicted and measured"), "partitions")
    assert [tuple(map(int, row[:2])) for row in table] == [*MEASURED]
    for row, (partitions, consumers) in zip(table, MEASURED, strict=True):
        predicted, measured, ratio = map(as_number, row[2:])
        rate = predicted_rate(costs, Layout(partitions, consumers, CORES))
        assert predicted == pytest.approx(rate, rel=0.01)
        assert ratio == pytest.approx(predicted / measured, abs=0.01)
        assert abs(ratio - 1) <= MOST_WRONG


@pytest.mark.slow
def test_calls_are_predicted_by_the_simulation():
    """Rates of sidecars are those of the costs on the page, and none is further off than told."""
    text = section(PAGE, "Calls and sidecars")
    neo4j, sidecar = (as_number(row[1]) / 1000 for row in rows(text, "where"))
    costs = sidecars.Costs(neo4j, sidecar)
    for row in rows(text, "sidecars"):
        count, predicted, measured, ratio, p99, _ = map(as_number, row)
        found = sidecars.predict(costs, sidecars.Layout(int(count), CORES, sidecars.CALLERS))
        # The costs of the page are rounded.
        assert predicted == pytest.approx(found.rate, rel=0.02)
        assert p99 == pytest.approx(found.p99 * 1000, rel=0.05)
        assert ratio == pytest.approx(predicted / measured, abs=0.01)
        assert abs(ratio - 1) <= sidecars.MOST_WRONG
    for row, layout in zip(rows(text, "cores"), sidecars.PREDICTED, strict=True):
        assert tuple(map(int, row[:3])) == (layout.cores, layout.sidecars, layout.callers)
        assert as_number(row[3]) == pytest.approx(sidecars.predict(costs, layout).rate, rel=0.02)
