"""`python -m benchmarks`: start everything, measure, report, stop everything."""

import argparse
import os
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

from benchmarks.breakdown import NotAllowedError, breakdown
from benchmarks.chart import write_chart
from benchmarks.figures import summarise
from benchmarks.installation import installed
from benchmarks.measures import QUICK, Samples, Scale, take, warm_up
from benchmarks.report import machine, table, write_json

_ROOT = Path(__file__).resolve().parent.parent
_JSON = _ROOT / "benchmarks" / "results" / "latest.json"
_SVG = _ROOT / "docs" / "benchmarks.svg"


def main() -> None:
    """Measure and report the results."""
    options = _options()
    scale = QUICK if options.quick else Scale()
    signal.signal(signal.SIGTERM, _interrupt)
    load_before = os.getloadavg()[0]
    runs: list[Samples] = []
    with installed() as installation:
        facts = machine(installation)
        _say("warming up")
        warm_up(installation, scale)
        for number in range(1, options.runs + 1):
            _say(f"run {number} of {options.runs}")
            runs.append(take(installation, scale))
        results = summarise(runs)
        print(table(results), flush=True)
        _say("sampling")
        try:
            print(f"\n{breakdown(installation, scale)}")
        except NotAllowedError:
            _say("not sampled: py-spy may not look into another process here; root may")
    facts |= {
        "taken": datetime.now(UTC).date().isoformat(),
        "load_before": round(load_before, 2),
        "load_after": round(os.getloadavg()[0], 2),
    }
    if options.json is not None:
        write_json(options.json, facts=facts, scale=scale, results=results, runs=runs)
    if options.svg is not None:
        write_chart(options.svg, results, facts)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=main.__doc__)
    parser.add_argument("--runs", type=int, help="how often everything is measured (5)")
    parser.add_argument("--quick", action="store_true", help="one small run; no files unless named")
    parser.add_argument("--json", type=Path, help="figures (benchmarks/results/latest.json)")
    parser.add_argument("--svg", type=Path, help="picture (docs/benchmarks.svg)")
    options = parser.parse_args()
    options.runs = options.runs or (1 if options.quick else 5)
    if not options.quick:
        options.json = options.json or _JSON
        options.svg = options.svg or _SVG
    return options


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _say(what: str) -> None:
    print(f"{datetime.now(UTC):%H:%M:%S} {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
