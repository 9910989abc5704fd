"""Metrics of shared objects."""

import structlog.testing
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily

from sidecypher.sdk.resources import Resources


class Model:
    def collect(self):
        yield GaugeMetricFamily("model_words", "Words of the model", value=2)


class Broken:
    def collect(self):
        raise ValueError("secret")


def test_metrics_of_shared_objects_are_served():
    """An object's `collect` adds metrics; one that raises is logged without its text."""
    registry = CollectorRegistry()
    resources = Resources()
    registry.register(resources)
    for kind in (dict, Broken, Model):
        resources.get(kind)

    with structlog.testing.capture_logs() as logged:
        shown = generate_latest(registry).decode()

    assert "model_words 2.0" in shown
    assert [(each["resource"], each["type"]) for each in logged] == [("Broken", "ValueError")]
    assert "secret" not in str(logged)
