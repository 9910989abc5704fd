"""`python -m benchmarks.github`: the cost of live GitHub data, compared with `apoc.load.json`."""

import itertools
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median

import httpx
import psutil
from tests.shared_cache import npm_packages

from benchmarks.figures import Bar, Figure, ratio, summarise
from benchmarks.installation import Installation, ended, installed
from benchmarks.measures import Samples, scale_of
from benchmarks.report import table

_OWNER, _REPO = "Codertocat", "Hello-World"
_SLOW = 0.1  # seconds until the origin answers, like github.com
_MIB = 1024 * 1024
_BOUND = 160 * _MIB  # limit of the cache; 100 000 issues need less

_BATCH = f"""
    WITH [n IN range($from, $to) | ['{_OWNER}', '{_REPO}', n, $options]] AS rows
    CALL github.getIssue.batch(rows) YIELD title RETURN count(title) AS count
"""
_SINGLE = f"""
    UNWIND range($from, $to) AS n
    CALL github.getIssue('{_OWNER}', '{_REPO}', n) YIELD title RETURN count(title) AS count
"""
_NATIVE = f"""
    UNWIND range($from, $to) AS n
    CALL bench.nativeIssue('{_OWNER}', '{_REPO}', n) YIELD title RETURN count(title) AS count
"""
_CLEAR = "CALL sidecypher.clearCache()"
_ECHO = (
    "UNWIND range($from, $to) AS n CALL bench.echoAsync('title') YIELD value RETURN count(value)"
)
_APOC = f"""
    UNWIND range($from, $to) AS n
    CALL apoc.load.json($url + '/repos/{_OWNER}/{_REPO}/issues/' + n) YIELD value
    RETURN count(value.title) AS count
"""


@dataclass(frozen=True)
class Scale:
    """Size of the measurement.

    Attributes:
        cold: Issues that are fetched at once from a slow origin.
        many: Issues that are fetched with GraphQL.
        apoc: Issues that `apoc.load.json` fetches from the slow origin, one after the other.
        warm: Rows of a warm read.
        given: Rows that Neo4j gives without a crossing.
        kept: Issues that are kept in the cache.
        beyond: Further issues, so that the cache exceeds its limit.
        runs: Repetitions of the whole measurement.
    """

    cold: int = 200
    many: int = 1_000
    apoc: int = 20
    warm: int = 20_000
    given: int = 10_000
    kept: int = 100_000
    beyond: int = 60_000
    runs: int = 3


QUICK = Scale(cold=40, many=100, apoc=2, warm=200, given=200, kept=200, beyond=200, runs=1)

FIGURES = (
    Figure(
        "cold_rest",
        "200 cold rows by REST / 10 times 100 ms",
        "x",
        ratio("cold_rest", "cold_rounds"),
        Bar(1.25),
    ),
    Figure("cold_rest_calls", "the same, requests", "calls"),
    Figure("cold_query", "200 cold rows by GraphQL", "ms"),
    Figure("cold_query_calls", "the same", "calls", bar=Bar(3)),
    Figure("many_calls", "1 000 cold rows", "calls", bar=Bar(10)),
    Figure("warm_calls", "the same again", "calls", bar=Bar(0)),
    Figure(
        "warm_to_echo",
        "warm row through the sidecar / row of an echo",
        "x",
        ratio("warm_row", "echo_row"),
        Bar(2),
    ),
    Figure("warm_row", "warm row through the sidecar", "us"),
    Figure(
        "given_to_native",
        "warm row that Neo4j keeps / native Java of the same width",
        "x",
        ratio("given_row", "native_row"),
        Bar(2),
    ),
    Figure("given_row", "warm row that Neo4j keeps", "us"),
    Figure(
        "given",
        "10 000 rows that Neo4j keeps, one call each",
        "ms",
        lambda s: s["given_row"] * 1e7,
        Bar(100),
    ),
    Figure(
        "warm_batch",
        "warm rows of `.batch`",
        "rows/s",
        lambda s: 1 / s["batch_row"],
        Bar(50_000, at_least=True),
    ),
    Figure(
        "apoc_cold",
        "`apoc.load.json` / ours, cold row of 100 ms",
        "x",
        ratio("apoc_cold_row", "rest_row"),
    ),
    Figure(
        "apoc_warm",
        "`apoc.load.json` without latency / warm row through the sidecar",
        "x",
        ratio("apoc_row", "warm_row"),
    ),
    Figure("apoc_row", "`apoc.load.json` without latency", "us"),
    Figure(
        "kept_memory", "memory of 100 000 issues", "MiB", lambda s: s["kept_bytes"] / _MIB, Bar(250)
    ),
    Figure(
        "bound",
        "memory of 160 000 issues / a bound of 160 MiB",
        "x",
        lambda s: s["bound_bytes"] / _BOUND,
        Bar(1.25),
    ),
)


def main() -> None:
    """Measure and print the table."""
    scale = scale_of("github", main.__doc__, QUICK, Scale())
    with measuring() as measurement:
        print(table(summarise([measurement.take(scale) for _ in range(scale.runs)], FIGURES)))


@contextmanager
def measuring() -> Iterator["Measurement"]:
    """Start an origin, and an installation that uses it as GitHub."""
    recordings = npm_packages("recordings")
    command = [sys.executable, "-m", "benchmarks.github_origin", str(recordings)]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE}
    with ended(subprocess.Popen(command, text=True, **pipes)) as process:
        url = f"http://127.0.0.1:{int(process.stdout.readline())}"
        variables = {
            "SIDECYPHER_GITHUB_BASE_URL": url,
            "SIDECYPHER_GITHUB_TOKEN": "ghp_benchmark",
            "SIDECYPHER_GITHUB_CACHE_BYTES": str(_BOUND),
        }
        with installed(**variables) as installation:
            yield Measurement(installation, url)


class Measurement:
    """Source of the samples of each run.

    Args:
        installation: Installation whose sidecar queries the origin.
        url: Address of the origin.
    """

    def __init__(self, installation: Installation, url: str) -> None:
        self._installation = installation
        self._url = url
        self._numbers = itertools.count(1)

    def take(self, scale: Scale) -> Samples:
        """Measure everything once, with issues that were not requested before."""
        return {**self._cold(scale), **self._warm(scale), **self._kept(scale)}

    def _cold(self, scale: Scale) -> Samples:
        self._reset(_SLOW)
        rest = self._batch(self._next(scale.cold), api="rest")
        rest_calls = self._reset(_SLOW)
        query = self._batch(self._next(scale.cold), api="graphql")
        query_calls = self._reset(_SLOW)
        apoc = self._seconds(_APOC, self._next(scale.apoc), url=self._url)
        self._reset(0)
        return {
            "cold_rest": rest,
            "cold_rounds": -(-scale.cold // 20) * _SLOW,
            "rest_row": rest / scale.cold,
            "cold_rest_calls": rest_calls["rest"],
            "cold_query": query,
            "cold_query_calls": query_calls["graphql"],
            "apoc_cold_row": apoc / scale.apoc,
        }

    def _warm(self, scale: Scale) -> Samples:
        numbers = self._next(scale.many)
        self._batch(numbers)
        many = self._reset(0)
        self._batch(numbers)
        warm = self._reset(0)
        rows = self._next(scale.warm)
        self._batch(rows)
        some = range(rows.start, rows.start + scale.many)
        for query in (_SINGLE, _ECHO, _APOC):
            self._seconds(query, some, url=self._url)
        return {
            "many_calls": many["graphql"] + many["rest"],
            "warm_calls": warm["graphql"] + warm["rest"],
            "batch_row": median(self._batch(rows) for _ in range(5)) / scale.warm,
            "warm_row": self._per_row(_SINGLE, some, before=_CLEAR),
            **self._given(range(rows.start, rows.start + scale.given)),
            "echo_row": self._per_row(_ECHO, some),
            "apoc_row": self._per_row(_APOC, some),
        }

    def _kept(self, scale: Scale) -> Samples:
        """Fill the cache of a new sidecar, first below and then above its limit."""
        self._installation.restart_sidecar()
        self._batch(self._next(100))
        before = self._memory()
        self._fill(scale.kept)
        kept = self._memory()
        self._fill(scale.beyond)
        return {"kept_bytes": kept - before, "bound_bytes": self._memory() - before}

    def _fill(self, issues: int) -> None:
        for _ in range(0, issues, 2_000):
            self._batch(self._next(min(2_000, issues)))

    def _memory(self) -> int:
        return psutil.Process(self._installation.sidecar_pid()).memory_info().rss

    def _next(self, count: int) -> range:
        start = next(self._numbers)
        self._numbers = itertools.count(start + count)
        return range(start, start + count)

    def _batch(self, numbers: range, api: str = "auto") -> float:
        return self._seconds(_BATCH, numbers, options={"api": api, "maxAge": 3600})

    def _given(self, numbers: range) -> Samples:
        """Measure rows that Neo4j keeps, and native Java, in turns."""
        queries = {"given_row": _SINGLE, "native_row": _NATIVE}
        taken: dict[str, list[float]] = {name: [] for name in queries}
        for turn in range(10):
            for name, query in queries.items():
                seconds = self._seconds(query, numbers)
                # The first turns fill the cache and let the JVM compile.
                taken[name] += [seconds] if turn > 3 else []
        return {name: median(each) / len(numbers) for name, each in taken.items()}

    def _per_row(self, query: str, numbers: range, before: str = "RETURN 1") -> float:
        taken = []
        for _ in range(5):
            self._installation.seconds(before)
            taken.append(self._seconds(query, numbers, url=self._url))
        return median(taken) / len(numbers)

    def _seconds(self, query: str, numbers: range, **parameters: object) -> float:
        where = {"from": numbers.start, "to": numbers.stop - 1}
        return self._installation.seconds(query, **where, **parameters)[0]

    def _reset(self, latency: float) -> dict[str, int]:
        """Set the origin's latency; return the requests since the last reset."""
        answer = httpx.get(f"{self._url}/reset", params={"latency": latency}, trust_env=False)
        counts: dict[str, int] = answer.raise_for_status().json()
        return counts


if __name__ == "__main__":
    main()
