"""`python -m benchmarks.rules`: the cost of the rules memory, on a graph of real size."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median, quantiles

import neo4j

from benchmarks.clients import rate
from benchmarks.figures import Bar, Figure, ratio, summarise
from benchmarks.installation import installed
from benchmarks.measures import Samples, scale_of, seconds_of
from benchmarks.report import table
from sidecypher_procedures.rules.detector.comparison import compare, read_text
from sidecypher_schema import connect
from sidecypher_schema.apoc import find_apoc

_LLM = {"method": "llm", "model": "benchmark"}
_ADD = "CALL rules.add($rule, {method: 'rule'})"
_REMEMBER = "CALL rules.remember($input)"
_TEXTS = ("Use a formal tone.", "casual tone, please", "at most 100 words", "never use emojis")
_TURN = 20  # commits before the trigger is stopped or started, so that both meet the same machine


@dataclass(frozen=True)
class Scale:
    """Size of the measurement.

    Attributes:
        writes: Rules that are written, each next to a bare node.
        seconds: Duration of concurrent writes.
        rules: Rules of the user whose rules are read; 100 of them are visible.
        facts: Facts of the user whose context is read.
        reads: Reads of each kind.
        commits: Commits with the trigger, and as many without it.
        pairs: Pairs of rules that are compared.
        runs: Repetitions of the whole measurement.
    """

    writes: int = 300
    seconds: float = 5.0
    rules: int = 10_000
    facts: int = 100_000
    reads: int = 200
    commits: int = 600
    pairs: int = 20_000
    runs: int = 3


QUICK = Scale(writes=10, seconds=0.5, rules=300, facts=500, reads=5, commits=20, pairs=500, runs=1)

FIGURES = (
    Figure(
        "write_to_bare", "rule write / bare node", "x", ratio("rule_write", "bare_write"), Bar(5)
    ),
    Figure("rule_write", "rule, provenance, check, edge", "ms"),
    Figure("bare_write", "bare one-node write", "ms"),
    Figure(
        "eight_to_one",
        "8 clients on 8 scopes / one",
        "x",
        ratio("eight_rate", "one_rate"),
        Bar(2, at_least=True),
    ),
    Figure("one_rate", "one client", "rules/s"),
    Figure("active", "`rules.active`, 100 of 10 000", "ms", bar=Bar(30)),
    Figure("context_p95", "`rules.context`, p95, 100 000 facts", "ms", bar=Bar(100)),
    Figure("context_p50", "the same, p50", "ms"),
    Figure("pairs", "pairs read and compared", "pairs/s", bar=Bar(2_000, at_least=True)),
    Figure(
        "trigger",
        "trigger, unconcerned commit",
        "ms",
        lambda s: (s["guarded_commit"] - s["free_commit"]) * 1e3,
        Bar(0.3),
    ),
    Figure("free_commit", "commit without trigger", "ms"),
)


def main() -> None:
    """Measure and print the table."""
    scale = scale_of("rules", main.__doc__, QUICK, Scale())
    with installed() as installation:
        installation.command("migrate")
        runs = measure(installation.driver, scale)
    print(table(summarise(runs, FIGURES)))


def measure(driver: neo4j.Driver, scale: Scale) -> list[Samples]:
    """Load a graph, and measure on it.

    A small run before the first one warms everything up, unless the measurement is small too.
    """
    _load_rules(driver, scale)
    _load_facts(driver, scale)
    if scale is not QUICK:
        _take(driver, QUICK)
    return [_take(driver, scale) for _ in range(scale.runs)]


def _take(driver: neo4j.Driver, scale: Scale) -> Samples:
    samples: Samples = {}
    for sample in (_writes, _clients, _reads, _contexts, _pairs, _commits):
        samples |= sample(driver, scale)
    return samples


_numbers = itertools.count()


def _writes(driver: neo4j.Driver, scale: Scale) -> Samples:
    """Write a contradicting rule into its own scope, in turns with a bare node."""
    taken: dict[str, list[float]] = {"bare_write": [], "rule_write": []}
    with driver.session() as session:
        for _ in range(scale.writes):
            scope = {"userId": "writer", "scope": "project", "scopeId": f"w{next(_numbers)}"}
            session.run(_ADD, rule={**scope, "text": "formal tone"}).consume()
            rule = {**scope, "text": "casual tone"}
            taken["rule_write"].append(_seconds(lambda rule=rule: session.run(_ADD, rule=rule)))
            taken["bare_write"].append(
                _seconds(lambda: session.run("CREATE (:Bare {id: $id})", id=next(_numbers)))
            )
    return {name: median(each) for name, each in taken.items()}


def _clients(driver: neo4j.Driver, scale: Scale) -> Samples:
    return {
        "one_rate": rate(driver, 1, scale.seconds, _add_rules),
        "eight_rate": rate(driver, 8, scale.seconds, _add_rules),
    }


def _add_rules(session: neo4j.Session) -> Iterator[None]:
    """State rules that contradict each other, in a scope of one's own."""
    scope = {"userId": "clients", "scope": "project", "scopeId": f"c{next(_numbers)}"}
    for text in itertools.cycle(("formal tone", "casual tone")):
        rule = {**scope, "text": text}
        session.execute_write(lambda tx, rule=rule: tx.run(_ADD, rule=rule).consume())
        yield


def _reads(driver: neo4j.Driver, scale: Scale) -> Samples:
    query = "CALL rules.active('reader', 'project', 'p0') YIELD id RETURN count(*)"
    with driver.session() as session:
        taken = [_seconds(lambda: session.run(query)) for _ in range(scale.reads)]
    return {"active": median(taken)}


def _contexts(driver: neo4j.Driver, scale: Scale) -> Samples:
    query = "CALL rules.context({userId: 'facts', prompt: $prompt}) YIELD graphContext RETURN 1"
    with driver.session() as session:
        taken = [
            _seconds(
                lambda number=number: session.run(
                    query, prompt=f"How does thing {number * 7} depend on thing {number * 13}?"
                )
            )
            for number in range(scale.reads)
        ]
    return {"context_p50": median(taken), "context_p95": quantiles(taken, n=20)[-1]}


def _pairs(_driver: neo4j.Driver, scale: Scale) -> Samples:
    pairs = itertools.islice(itertools.cycle(itertools.product(_TEXTS, _TEXTS)), scale.pairs)

    def compare_all() -> None:
        for one, other in pairs:
            compare(read_text(one), read_text(other))

    return {"pairs": scale.pairs / seconds_of(compare_all)}


def _commits(driver: neo4j.Driver, scale: Scale) -> Samples:
    """Commit changes unrelated to rules, in turns with the trigger and without it."""
    apoc = find_apoc(connect(driver))
    taken: dict[str, list[float]] = {"guarded_commit": [], "free_commit": []}
    for _ in range(scale.commits // _TURN):
        taken["guarded_commit"] += _run_commits(driver, _TURN)
        with apoc.stopped():
            taken["free_commit"] += _run_commits(driver, _TURN)
    return {name: median(each) for name, each in taken.items()}


def _run_commits(driver: neo4j.Driver, count: int) -> list[float]:
    """Write runs of a workflow; like facts, they have a `type`."""
    with driver.session() as session:
        return [
            _seconds(lambda: session.run("CREATE (:WorkflowRun {type: $type})", type="issue"))
            for _ in range(count)
        ]


def _load_rules(driver: neo4j.Driver, scale: Scale) -> None:
    """State 100 rules of one project, and the others in projects of 100 each."""
    with driver.session() as session:
        for project in range(scale.rules // 100):
            rules = [
                {"text": f"mention topic {number}", "scope": "project", "scopeId": f"p{project}"}
                for number in range(100)
            ]
            given = {"userId": "reader", "rules": rules, "extraction": _LLM}
            session.run(_REMEMBER, input=given).consume()


def _load_facts(driver: neo4j.Driver, scale: Scale) -> None:
    """Relate things to others so that each has about ten facts."""
    things = scale.facts // 10
    with driver.session() as session:
        for start in range(0, scale.facts, 500):
            relations = [
                {
                    "from": f"thing {number % things}",
                    "type": "depends on",
                    "to": f"thing {(number * 7919 + number // things) % things}",
                }
                for number in range(start, start + 500)
            ]
            given = {"userId": "facts", "relations": relations, "extraction": _LLM}
            session.run(_REMEMBER, input=given).consume()


def _seconds(run: Callable[[], neo4j.Result]) -> float:
    return seconds_of(lambda: run().consume())


if __name__ == "__main__":
    main()
