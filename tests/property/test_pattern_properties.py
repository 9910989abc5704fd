"""No text, however long or odd, holds the interpreter in a regular expression."""

import ast
import importlib
import inspect
import pkgutil
import re
import time
from contextlib import suppress
from itertools import product
from re import _parser

import pytest
from fix_waiting import promised

import sidecypher
import sidecypher_procedures
import sidecypher_schema
from sidecypher_procedures.github.errors import redacted
from sidecypher_procedures.github.merges import closed_issues
from sidecypher_procedures.rules.concept_search import find_phrases
from sidecypher_procedures.rules.detector.comparison import read_text
from sidecypher_procedures.rules.extraction import find_in_texts
from sidecypher_procedures.rules.extractor import MAX_SENTENCE, extract
from sidecypher_procedures.rules.model import Scope
from sidecypher_procedures.rules.selection import Bounds
from sidecypher_schema.errors import BadScript
from sidecypher_schema.lexer import tokens

CHARACTERS, SECONDS = 100_000, promised(1.0)
# What takes the square of the time takes 0.4 ms for so many when 100 000 characters take a second.
SAMPLE, SUSPICIOUS = 2_000, 0.0004


def tokens_of(text):
    with suppress(BadScript):
        list(tokens(text))


# Modules whose patterns see only texts of the operator's own installation.
OPERATORS_OWN = ("sidecypher.cli.", "sidecypher.runtime.")
# Patterns whose text has a limit of its own.
LIMITS = {"sidecypher_procedures.rules.extractor._PARTS": MAX_SENTENCE}
# Patterns that are used until they first find something, and the function that does so.
STOPPED = {"sidecypher_schema.lexer._TOKEN": tokens_of}
# Modules with patterns that are made when they are used.
MADE_IN_USE = {
    "sidecypher.host.settings": "reads the operator's files",
    "sidecypher_procedures.github.merges": "has the repository's name in it; see READERS",
}

GENERAL = ["a", "A", "1", " ", "\n", ".", "-", "_", "'", '"', "`", "\u3042", "\u00e9"]
TAILS = ["", "\0", "'x"]
METHODS = {
    "search": lambda pattern, text: pattern.search(text),
    "match": lambda pattern, text: pattern.match(text),
    "fullmatch": lambda pattern, text: pattern.fullmatch(text),
    # `findall`, `split` and `sub` find the same places.
    "finditer": lambda pattern, text: sum(1 for _ in pattern.finditer(text)),
}
FOUND_LIKE = {"findall": "finditer", "split": "finditer", "sub": "finditer"}


# What texts are made of that a reader may stumble over.
TEXTS = [
    *(
        *GENERAL,
        "a ",
        "a.",
        "aA",
        "a'",
        "'a",
        "! ",
        "!x",
        "A ",
        "A-",
        "Ab ",
        "A1",
        "a_",
        "#a",
        "@a",
    ),
    *("a.b", "`a", "```", "~~~", "<!--", "-->", "- ", "\u201c", "\u201d", "\u00ab", "\u00bb"),
    *("\u2018", "\u2018a", "a\u2019 ", "use ", "never ", "A uses ", "A is a ", "Use tabs. "),
    *(", and ", "because ", "i like ", "fixes #1 ", "close ", "ghp_a", "gh_", "bearer ", "\\"),
    *(
        "-----BEGIN A",
        "-----BEGIN A-----",
        "-----END A",
        "authorization",
        "1-",
        "1,",
        "1 - 1",
        "<=",
    ),
    *("c#", "\u0130", "a\u0301", "can't ", "'s ", "n't", "\u200b", "50 words ", "tabs, not spaces"),
]
READERS = {
    "extract": extract,
    "listen": lambda text: find_in_texts(
        Scope("ann", "global"), {"text": text, "artifactDelta": text}
    ),
    "read_text": lambda text: read_text(text).topics,
    "find_phrases": lambda text: find_phrases(text, Bounds()),
    "closed_issues": lambda text: closed_issues(text, "o/r", "https://github.com/o/r"),
    "redacted": redacted,
}


def modules():
    for package in (sidecypher, sidecypher_procedures, sidecypher_schema):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.startswith(OPERATORS_OWN) and not found.name.endswith("__main__"):
                yield importlib.import_module(found.name)


def held(value):
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from held(each)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for each in value:
            yield from held(each)


def uses(tree, name):
    """Tell by which methods a module uses a pattern; all of them where that is not plain."""
    nodes = [*ast.walk(tree)]
    attributes = [
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        if node.value.id == name
    ]
    loads = sum(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
        for node in nodes
    )
    called = {FOUND_LIKE.get(attribute, attribute) for attribute in attributes}
    return (
        sorted(called)
        if called and called <= METHODS.keys() and loads == len(attributes)
        else [*METHODS]
    )


def patterns():
    found = {}
    for module in modules():
        holders = {name: kept for name, value in vars(module).items() if (kept := [*held(value)])}
        # Most modules hold none, and to parse all of them takes seconds of each worker.
        tree = ast.parse(inspect.getsource(module)) if holders else None
        for name, kept in holders.items():
            methods = {*uses(tree, name)}
            for place, pattern in enumerate(kept):
                own = f"{module.__name__}.{name}" + (f"[{place}]" if place else "")
                label, known = found.get(pattern, (own, set()))
                found[pattern] = (label, methods | known)
    return {label: (pattern, sorted(methods)) for pattern, (label, methods) in found.items()}


PATTERNS = patterns()


def pieces(parsed):
    """Yield the characters and words that a parsed pattern is made of."""
    word = ""
    for operator, argument in parsed:
        if str(operator) == "LITERAL":
            word += chr(argument)
            continue
        yield from filter(None, [word])
        word = ""
        if str(operator) == "IN":
            yield from members(argument)
        for part in parts(argument):
            yield from pieces(part)
    yield from filter(None, [word])


def parts(argument):
    if isinstance(argument, _parser.SubPattern):
        yield argument
    elif isinstance(argument, (list, tuple)):
        for each in argument:
            yield from parts(each)


def members(argument):
    for kind, value in argument:
        if str(kind) == "LITERAL":
            yield chr(value)
        elif str(kind) == "RANGE":
            yield chr(value[0])


def atoms(pattern):
    source = (
        pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    )
    own = list(dict.fromkeys(pieces(_parser.parse(source, pattern.flags & ~re.DEBUG))))
    letters = list(dict.fromkeys([*(each for each in own if len(each) == 1)][:8] + GENERAL))
    words = [each for each in own if len(each) > 1][:20]
    yield from letters
    yield from map("".join, product(letters[:10], repeat=2))
    yield from words
    yield from (f"{word}{letter}" for word in words for letter in " a")


def seconds(read, text):
    begin = time.thread_time()
    read(text)
    return time.thread_time() - begin


def holds(read, atom, tail, limit=CHARACTERS):
    """Tell whether a long text takes too long; of growing ones, so that none takes minutes."""
    length, took = SAMPLE, 0.0
    while length < limit:
        before, took = took, seconds(read, atom * (length // len(atom)) + tail)
        if took > SECONDS:
            return True
        grows_evenly = took < 3 * before or took < SUSPICIOUS
        if grows_evenly and took * limit / length < SECONDS / 2:
            return False
        length *= 2
    return seconds(read, atom * (limit // len(atom)) + tail) > SECONDS


def readers(label):
    """Return what reads a text by a pattern, in the ways the product does."""
    pattern, methods = PATTERNS[label]
    if label in STOPPED:
        return {"tokens": STOPPED[label]}
    encode = isinstance(pattern.pattern, bytes)
    return {
        name: lambda text, name=name: METHODS[name](pattern, text.encode() if encode else text)
        for name in methods
    }


@pytest.mark.parametrize("label", PATTERNS)
def test_no_pattern_holds_the_interpreter(label):
    """100 000 characters of any repeated piece take less than a second, however they end."""
    slow = (
        (name, atom, tail)
        for atom, tail in product(atoms(PATTERNS[label][0]), TAILS)
        for name, read in readers(label).items()
        if holds(read, atom, tail, LIMITS.get(label, CHARACTERS))
    )

    assert next(slow, None) is None


@pytest.mark.parametrize("function", READERS)
def test_no_reader_of_texts_holds_the_interpreter(function):
    """What reads a user's or GitHub's text takes less than a second for 100 000 characters."""
    slow = (
        (atom, tail) for atom, tail in product(TEXTS, TAILS) if holds(READERS[function], atom, tail)
    )

    assert next(slow, None) is None


def test_every_pattern_has_a_name():
    """A pattern inside of a function would escape the test of all patterns."""
    unnamed = [
        f"{module.__name__}:{node.lineno}"
        for module in modules()
        if module.__name__ not in MADE_IN_USE
        for function in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if isinstance(node.func.value, ast.Name) and node.func.value.id == "re"
        if node.func.attr != "escape"
    ]

    assert unnamed == []
