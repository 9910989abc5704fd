"""The benchmark of the rules runs; its figures are not judged here, since machines are noisy."""

from math import isfinite

import pytest
from benchmarks.figures import summarise
from benchmarks.rules import FIGURES, QUICK, measure


@pytest.mark.deep
def test_a_quick_benchmark_measures_every_figure(session, driver):
    """A small run loads its graph and takes every sample; only a difference may not be positive."""
    results = {each.figure.name: each for each in summarise(measure(driver, QUICK), FIGURES)}
    values = {name: (each.least, each.value, each.most) for name, each in results.items()}

    assert values.keys() == {figure.name for figure in FIGURES}
    assert [name for name, each in values.items() if not all(map(isfinite, each))] == []
    assert {name for name, each in values.items() if min(each) <= 0} <= {"trigger"}
