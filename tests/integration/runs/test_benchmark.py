"""The benchmark of runs works; its figures are not judged here, since machines are noisy."""

from math import isfinite

from benchmarks.figures import summarise
from benchmarks.runs import FIGURES, QUICK, measure


def test_a_quick_benchmark_measures_every_figure(session, driver):
    """A small run takes every sample."""
    results = {each.figure.name: each for each in summarise(measure(driver, QUICK), FIGURES)}
    values = {name: (each.least, each.value, each.most) for name, each in results.items()}

    assert values.keys() == {figure.name for figure in FIGURES}
    assert all(isfinite(value) and value > 0 for each in values.values() for value in each)
