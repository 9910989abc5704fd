"""How findings are shown: by group, one line each, with the way out below."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from rich.text import Text

from sidecypher.cli.doctor.checking import Check
from sidecypher.cli.doctor.findings import Finding
from sidecypher.cli.output import results

Found = tuple[Check, Finding]

_STYLES: Final = {"OK": "green", "WARN": "yellow", "ERROR": "bold red"}
_NAME_WIDTH: Final = 15


def show(found: Iterable[Found]) -> list[Found]:
    """Print each finding as soon as it is there, then how many there are of each state."""
    shown: list[Found] = []
    for check, finding in found:
        if not shown or shown[-1][0].group != check.group:
            results.print(Text(check.group, style="bold"))
        for line in _lines(check, finding):
            results.print(line, soft_wrap=True)
        shown.append((check, finding))
    results.print(_summary(shown), highlight=False)
    return shown


def as_json(found: Sequence[Found]) -> dict[str, Any]:
    """Return what `--json` prints."""
    return {
        "ok": is_well(found),
        "counts": _counts(found),
        "checks": [
            {
                "group": check.group,
                "name": check.name,
                "state": finding.state,
                "found": finding.found,
                "way_out": finding.way_out,
            }
            for check, finding in found
        ],
    }


def is_well(found: Iterable[Found]) -> bool:
    """Return whether nothing is an error."""
    return all(finding.state != "ERROR" for _, finding in found)


def _lines(check: Check, finding: Finding) -> Iterator[Text]:
    state = (f"  {finding.state:5}", _STYLES[finding.state])
    yield Text.assemble(state, f"  {check.name:{_NAME_WIDTH}}  {finding.found}")
    if finding.way_out:
        yield Text(f"{'':{_NAME_WIDTH + 11}}{finding.way_out}")


def _counts(found: Iterable[Found]) -> dict[str, int]:
    counted = Counter(finding.state for _, finding in found)
    return {state: counted[state] for state in ("OK", "WARN", "ERROR")}


def _summary(found: Sequence[Found]) -> str:
    counts = ", ".join(f"{count} {state}" for state, count in _counts(found).items())
    return f"{len(found)} checks: {counts}"
