"""How fast rules are read and compared: `python -m benchmarks.detector` in the repository."""

import random
import time
import tomllib
from pathlib import Path

from sidecypher_procedures.rules.detector.comparison import compare, read_text

_GRAMMAR = Path(__file__).resolve().parent.parent / "tests" / "data" / "rules" / "grammar.toml"
_SEED = 4


def pairs_per_second(pairs: int = 20_000) -> float:
    """Read both texts of each pair and compare them; give the pairs of a second of one core."""
    texts = _texts()
    chance = random.Random(_SEED)
    chosen = [(chance.choice(texts), chance.choice(texts)) for _ in range(pairs)]
    compare(read_text(texts[0]), read_text(texts[1]))
    start = time.process_time()
    for one, other in chosen:
        compare(read_text(one), read_text(other))
    return pairs / (time.process_time() - start)


def _texts() -> list[str]:
    grammar = tomllib.loads(_GRAMMAR.read_text(encoding="utf-8"))
    return [
        text.format(100)
        for part in ("held", "open")
        for slot in grammar[part].values()
        for says in ("says", "denies")
        for texts in slot.get(says, {}).values()
        for text in texts
    ]


if __name__ == "__main__":
    print(f"{pairs_per_second():,.0f} pairs of rules read and compared in a second of one core")
