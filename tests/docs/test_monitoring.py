"""deploy/monitoring: alerts and dashboard ask for what sidecars export."""

import json
import os
import re
import shutil
from itertools import combinations

import pytest
import yaml
from docs.pages import ROOT, code_in, page_named, rows, section
from fix_wheel import run_program

from grafana_dashboard import dashboard

FOLDER = ROOT / "deploy/monitoring"
ALERTS = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"][0]["rules"]
DASHBOARD = json.loads((FOLDER / "grafana-dashboard.json").read_text())
PANELS = DASHBOARD["panels"]
QUERIES = [
    *(alert["expr"] for alert in ALERTS),
    *(target["expr"] for panel in PANELS for target in panel.get("targets", ())),
]
OF_PROMETHEUS = {"instance", "job", "le"}
"""Labels that every series has, or every histogram."""


@pytest.fixture(scope="module")
def exported():
    """The labels of each metric in docs/telemetry.md, which a test compares with the code."""
    table = rows(section("docs/telemetry.md", "Metrics"), "metric")
    return {code_in(name)[0]: set(code_in(labels)) for name, _kind, labels, _meaning in table}


@pytest.fixture(scope="module")
def promtool():
    """The checker of Prometheus; without one the tests skip, but not on CI."""
    found = shutil.which("promtool")
    if found is None:
        assert not os.environ.get("CI"), "promtool is in Debian's package `prometheus`"
        pytest.skip("there is no promtool; Debian's package `prometheus` has it")
    return found


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_is_about_what_sidecars_export(exported, query):
    """Each metric exists, and has the labels that are selected or grouped by."""
    names = {re.sub("_bucket$", "", name) for name in re.findall(r"sidecypher_\w+", query)}
    selected = re.findall(r"(\w+)=~?\"|(\w+)!~?\"", query)
    grouped = re.findall(r"by \(([^)]*)\)", query)
    labels = {name for pair in selected for name in pair if name} | {
        name for each in grouped for name in each.split(", ")
    }

    assert names or query == 'up{job="sidecypher"} == 0'
    assert names <= exported.keys()
    assert labels - OF_PROMETHEUS <= set().union(*map(exported.__getitem__, names))


def test_the_page_lists_the_alerts():
    """docs/monitoring.md has each alert with its severity, and each row of panels."""
    table = rows(page_named("docs/monitoring.md"), "alert")
    titles = [name for name, _ in rows(page_named("docs/monitoring.md"), "row")]

    assert [(code_in(name)[0], severity) for name, severity, _ in table] == [
        (alert["alert"], alert["labels"]["severity"]) for alert in ALERTS
    ]
    assert titles == [panel["title"] for panel in PANELS if panel["type"] == "row"]
    assert all(alert["annotations"].keys() == {"summary", "action"} for alert in ALERTS)


def test_the_dashboard_is_written_by_its_tool():
    """The file is what `make reference` writes."""
    assert dashboard() == DASHBOARD


def test_panels_have_places_of_their_own():
    """No panel lies on another one or beyond the edge, and each has a number and a query."""
    places = [panel["gridPos"] for panel in PANELS]
    areas = [
        {
            (x, y)
            for x in range(each["x"], each["x"] + each["w"])
            for y in range(each["y"], each["y"] + each["h"])
        }
        for each in places
    ]

    assert len({panel["id"] for panel in PANELS}) == len(PANELS)
    assert all(each["x"] + each["w"] <= 24 for each in places)
    assert not any(one & another for one, another in combinations(areas, 2))
    assert all(panel["targets"] for panel in PANELS if panel["type"] != "row")


def test_prometheus_understands_every_query(promtool, tmp_path):
    """Alerts are as Prometheus reads them, and so are the queries of the dashboard."""
    queries = [query.replace("$__rate_interval", "5m") for query in QUERIES]
    recorded = [{"record": f"query:{n}", "expr": query} for n, query in enumerate(queries)]
    file = tmp_path / "queries.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": recorded}]}))

    run_program(promtool, "check", "rules", "--lint-fatal", FOLDER / "alerts.yml", file)


def test_alerts_fire_when_they_should(promtool):
    """Series that go wrong fire the alert for them, and series that go well fire none."""
    run_program(promtool, "test", "rules", ROOT / "tests/data/monitoring/alerts_test.yml")
