"""The calls of programs in six languages, against truths written without sight of the analysis."""

import json
from pathlib import Path

from sidecypher_procedures.code.extraction import extract
from sidecypher_procedures.code.lexical import Names, families
from sidecypher_procedures.code.model import LANGUAGES, Place
from sidecypher_procedures.code.sources import read_sources

DATA = Path(__file__).parents[2] / "data" / "code" / "others"
SURE = {"exact", "typed", "flow"}


def calls_of(language):
    """Return what is found, with its tier, and the truth: called name and definition, by line.

    A call of a constructor counts as one of its class.
    """
    sources = read_sources(DATA / language, LANGUAGES)
    files = [extract(path, *source) for path, source in sources.files.items()]
    names = {
        (file.path, call.line, call.column): call.name_at.line
        for file in files
        for call in file.calls
    }
    lines = {
        Place(file.path, index): declared.line
        for file in files
        for index, declared in enumerate(file.declarations)
    }
    classes = dict(places for file in files for places in constructors_of(file))
    found = {}
    for group in families(files).values():
        for link in Names(group, {}).links():
            if link.type == "calls":
                target = (link.target.path, lines[link.target])
                line = names[link.source.path, link.line, link.column]
                key = (link.source.path, line, *classes.get(target, target))
                found[key] = link.resolution
    truth = json.loads((DATA / f"{language}.json").read_text())["calls"]
    return found, {(path, line, *classes.get((to, at), (to, at))) for path, line, to, at in truth}


def constructors_of(file):
    """Yield the place of each constructor with that of its class."""
    for each in file.declarations:
        parent = file.declarations[each.parent] if each.parent is not None else None
        if (
            parent is not None
            and parent.type == "class"
            and each.name in {"constructor", "initialize", parent.name}
        ):
            yield (file.path, each.line), (file.path, parent.line)


def test_what_names_say_of_unseen_programs_is_right():
    """Of the calls in sure tiers 97 % happen, of those by a unique name 84 %; 68 % are found."""
    sure = guesses = right = right_guesses = found_calls = calls = 0
    for language in ("go", "java", "javascript", "ruby", "rust", "typescript"):
        found, truth = calls_of(language)
        for call, tier in found.items():
            if tier in SURE:
                sure, right = sure + 1, right + (call in truth)
            else:
                guesses, right_guesses = guesses + 1, right_guesses + (call in truth)
        found_calls, calls = found_calls + len(found.keys() & truth), calls + len(truth)

    assert right / sure >= 0.97
    assert right_guesses / guesses >= 0.84
    assert found_calls / calls >= 0.68
