"""Batches of runs: as much as possible in one transaction, and less around what is refused."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Final

from sidecypher_procedures.sync.streams import Entry
from sidecypher_procedures.sync.writing import Refused

# Most bytes of the events of a transaction, unless one run alone has more. Neo4j holds all of them.
_BATCH_BYTES: Final = 4 * 1024 * 1024

Append = Callable[[Mapping[str, Sequence[Entry]]], Awaitable[None]]
"""Writes the entries of runs in one transaction, or raises Refused."""

Hold = Callable[[str, list[Entry], Refused], Awaitable[None]]
"""Keeps the entries of a run that cannot be written, of which the first one was refused."""


async def write_runs(runs: dict[str, list[Entry]], append: Append, hold: Hold) -> None:
    """Write runs in one transaction; if that is refused, each half of them in one.

    Of a run with a refused entry, what is before it is written, and the rest is held.
    """
    try:
        await append(runs)
    except Refused as refused:
        names = [*runs]
        if len(names) == 1:
            await _write_front(names[0], runs[names[0]], refused, append, hold)
            return
        half = len(names) // 2
        for some in (names[:half], names[half:]):
            await write_runs({name: runs[name] for name in some}, append, hold)


async def _write_front(
    run_id: str, entries: list[Entry], refused: Refused, append: Append, hold: Hold
) -> None:
    """Write the entries of a run before the one that is refused; the others are held.

    `refused` says why they cannot be written all at once.
    """
    start, end = 0, len(entries)
    while end - start > 1:
        middle = (start + end) // 2
        try:
            await append({run_id: entries[start:middle]})
        except Refused as error:
            refused, end = error, middle
        else:
            start = middle
    await hold(run_id, entries[start:], refused)


def parts_of(runs: Mapping[str, list[Entry]]) -> Iterable[dict[str, list[Entry]]]:
    """Yield runs in parts that a transaction can hold; a run stays whole, to keep its order."""
    part: dict[str, list[Entry]] = {}
    size = 0
    for run_id, entries in runs.items():
        added = sum(len(entry.text) for entry in entries)
        if part and size + added > _BATCH_BYTES:
            yield part
            part, size = {}, 0
        part[run_id] = entries
        size += added
    if part:
        yield part
