"""`python -m benchmarks.console`: size and response time of the console page."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

import httpx

from benchmarks.figures import Bar, Figure, ratio, summarise
from benchmarks.measures import Samples, scale_of, seconds_of
from benchmarks.report import table
from sidecypher.app import Sidecar
from sidecypher.host.rendezvous import running_sidecars
from sidecypher.host.settings import load_settings

_PARTS = ("/", "/procedures", "/console.css", "/console.js")


@dataclass(frozen=True)
class Scale:
    """Size of the measurement.

    Attributes:
        requests: Requests for each address, in turns.
        runs: Repetitions of the whole measurement.
    """

    requests: int = 1_000
    runs: int = 3


QUICK = Scale(requests=20, runs=1)

FIGURES = (
    Figure("size", "pages, style and script", "kB", lambda s: s["bytes"] / 1e3, Bar(150)),
    Figure("sent", "the same, compressed", "kB", bar=Bar(35)),
    Figure("page", "overview, p50", "ms"),
    Figure("page_p99", "overview, p99", "ms", bar=Bar(100)),
    Figure("list", "all procedures, p50", "ms"),
    Figure("live", "`/livez`, p50", "ms"),
    Figure("page_to_live", "overview / `/livez`", "x", ratio("page", "live")),
)


def main() -> None:
    """Measure and print the table."""
    scale = scale_of("console", main.__doc__, QUICK, Scale())
    with serving() as client:
        print(table(summarise([measure(client, scale) for _ in range(scale.runs)], FIGURES)))


@contextmanager
def serving() -> Iterator[httpx.Client]:
    """Start a sidecar with the shipped procedures; yield a client of its HTTP server."""
    with tempfile.TemporaryDirectory() as home:
        sidecar = Sidecar(load_settings({"home": home, "log_level": "ERROR"}, {}))
        sidecar.start()
        [own] = running_sidecars(Path(home) / "run")
        with httpx.Client(base_url=f"http://127.0.0.1:{own.http}", trust_env=False) as client:
            yield client
        sidecar.stop()


def measure(client: httpx.Client, scale: Scale) -> Samples:
    """Measure every sample once; the pages and `/livez` alternate."""
    taken: dict[str, list[float]] = {"/": [], "/procedures": [], "/livez": []}
    for _ in range(scale.requests):
        for path, seconds in taken.items():
            seconds.append(_seconds(client, path))
    parts = [client.get(path) for path in _PARTS]
    return {
        "bytes": sum(len(part.content) for part in parts),
        "sent": sum(part.num_bytes_downloaded for part in parts),
        "page": median(taken["/"]),
        "page_p99": quantiles(taken["/"], n=100)[98],
        "list": median(taken["/procedures"]),
        "live": median(taken["/livez"]),
    }


def _seconds(client: httpx.Client, path: str) -> float:
    return seconds_of(lambda: client.get(path).raise_for_status())


if __name__ == "__main__":
    main()
