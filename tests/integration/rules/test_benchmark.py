"""The benchmark of the rules runs; its figures are not judged here, since machines are noisy."""

from benchmarks.figures import summarise
from benchmarks.rules import FIGURES, QUICK, measure


def test_a_quick_benchmark_measures_every_figure(session, driver):
    """A small run loads its graph and takes every sample."""
    results = summarise(measure(driver, QUICK), FIGURES)

    assert [result.figure.name for result in results if result.value == 0] == []
