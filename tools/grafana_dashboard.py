"""Write deploy/monitoring/grafana-dashboard.json: `make reference`.

A panel is a title, a unit of Grafana and its queries in PromQL, each with a legend.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

_FILE: Final = Path(__file__).parents[1] / "deploy/monitoring/grafana-dashboard.json"
_SOURCE: Final = {"type": "prometheus", "uid": "${source}"}
_COLUMNS: Final = 2
_WIDTH: Final = 24 // _COLUMNS  # of Grafana's 24 columns
_HEIGHT: Final = 8

_OF: Final = 'job="$job", procedure=~"$procedure"'
_HERE: Final = 'job="$job"'
_RATE: Final = "$__rate_interval"
_CALLS: Final = f"sum by (procedure) (rate(sidecypher_calls_total{{{_OF}}}[{_RATE}]))"
_FAILED: Final = (
    f'sum by (procedure, outcome) (rate(sidecypher_calls_total{{{_OF}, outcome!~"ok|closed"}}'
    f"[{_RATE}]))"
)


def _quantile(share: float, metric: str) -> str:
    buckets = f"sum by (procedure, le) (rate({metric}_bucket{{{_OF}}}[{_RATE}]))"
    return f"histogram_quantile({share:g}, {buckets})"


_ROWS: Final[dict[str, list[tuple[str, str, dict[str, str]]]]] = {
    "Calls": [
        ("Calls", "reqps", {"{{procedure}}": _CALLS}),
        ("Errors", "reqps", {"{{procedure}} {{outcome}}": _FAILED}),
        (
            "Half of the calls take up to",
            "s",
            {"{{procedure}}": _quantile(0.5, "sidecypher_call_seconds")},
        ),
        (
            "19 of 20 calls take up to",
            "s",
            {"{{procedure}}": _quantile(0.95, "sidecypher_call_seconds")},
        ),
        (
            "Failures that only Neo4j sees",
            "reqps",
            {
                "{{procedure}} {{code}}": "sum by (procedure, code) (max by (jvm, procedure, code)"
                f" (rate(sidecypher_plugin_failures_total{{{_OF}}}[{_RATE}])))"
            },
        ),
        (
            "19 of 20 calls wait up to",
            "s",
            {"{{procedure}}": _quantile(0.95, "sidecypher_queue_seconds")},
        ),
    ],
    "Sidecars": [
        (
            "Open calls and connections",
            "short",
            {
                "calls of {{instance}}": f"sidecypher_open_calls{{{_HERE}}}",
                "connections of {{instance}}": f"sidecypher_connections{{{_HERE}}}",
            },
        ),
        (
            "What should be 0",
            "short",
            {
                "stuck calls": f"sum(sidecypher_stuck_calls{{{_HERE}}})",
                "modules left out": f"sum(sidecypher_load_failures{{{_HERE}}})",
                "workers that keep dying": f"sum(sidecypher_workers_crash_looping{{{_HERE}}})",
                "plugins of other procedures": "sum(increase("
                f"sidecypher_mismatched_plugins_total{{{_HERE}}}[{_RATE}]))",
                "lost spans": f"sum(sidecypher_lost_spans{{{_HERE}}})",
            },
        ),
        (
            "Turned away",
            "reqps",
            {
                "{{transport}} {{reason}}": "sum by (transport, reason) ("
                f"rate(sidecypher_rejected_total{{{_HERE}}}[{_RATE}]))"
            },
        ),
        (
            "Worker processes that were replaced",
            "short",
            {"{{instance}}": f"sidecypher_worker_restarts{{{_HERE}}}"},
        ),
    ],
    "Rows": [
        (
            "Rows",
            "rowsps",
            {
                "{{procedure}}": "sum by (procedure) ("
                f"rate(sidecypher_rows_total{{{_OF}}}[{_RATE}]))"
            },
        ),
        (
            "Bytes",
            "Bps",
            {
                "received": f"sum(rate(sidecypher_received_bytes_total{{{_OF}}}[{_RATE}]))",
                "sent": f"sum(rate(sidecypher_sent_bytes_total{{{_OF}}}[{_RATE}]))",
            },
        ),
        (
            "Calls that Neo4j answers from kept rows",
            "reqps",
            {
                "{{procedure}} {{result}}": "sum by (procedure, result) ("
                "max by (jvm, procedure, result) ("
                f"rate(sidecypher_cached_calls_total{{{_OF}}}[{_RATE}])))"
            },
        ),
        (
            "Kept rows",
            "bytes",
            {
                "{{procedure}}": "sum by (procedure) (max by (jvm, procedure) ("
                f"sidecypher_cache_bytes{{{_OF}}}))"
            },
        ),
    ],
}


def dashboard() -> dict[str, Any]:
    """Return the dashboard, as Grafana imports it."""
    return {
        "uid": "sidecypher",
        "title": "sidecypher",
        "description": "Calls of procedures, and the sidecars that run them",
        "tags": ["neo4j", "sidecypher"],
        "schemaVersion": 39,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [*_variables()]},
        "panels": [
            {"id": number, **panel} for number, panel in enumerate(_panels(_ROWS.items()), start=1)
        ],
    }


def _variables() -> Iterator[dict[str, Any]]:
    yield {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}
    yield {
        "name": "job",
        "type": "query",
        "datasource": _SOURCE,
        "query": "label_values(sidecypher_connections, job)",
        "refresh": 2,
    }
    yield {
        "name": "procedure",
        "type": "query",
        "datasource": _SOURCE,
        "query": 'label_values(sidecypher_calls_total{job="$job"}, procedure)',
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }


def _panels(
    rows: Iterable[tuple[str, list[tuple[str, str, dict[str, str]]]]],
) -> Iterator[dict[str, Any]]:
    top = 0
    for name, panels in rows:
        yield {
            "type": "row",
            "title": name,
            "collapsed": False,
            "panels": [],
            "gridPos": {"x": 0, "y": top, "w": 24, "h": 1},
        }
        top += 1
        for number, (title, unit, queries) in enumerate(panels):
            left, down = number % _COLUMNS * _WIDTH, number // _COLUMNS * _HEIGHT
            yield {
                "type": "timeseries",
                "title": title,
                "datasource": _SOURCE,
                "gridPos": {"x": left, "y": top + down, "w": _WIDTH, "h": _HEIGHT},
                "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
                "options": {"tooltip": {"mode": "multi", "sort": "desc"}},
                "targets": [
                    {"refId": chr(ord("A") + place), "expr": query, "legendFormat": legend}
                    for place, (legend, query) in enumerate(queries.items())
                ],
            }
        top += -(-len(panels) // _COLUMNS) * _HEIGHT


if __name__ == "__main__":
    _FILE.write_text(json.dumps(dashboard(), indent=2) + "\n", encoding="utf-8")
