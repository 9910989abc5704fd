"""The languages that can be read: their suffixes, grammars and queries.

Each language has a file with a query. What a match means follows from its captures:

============== ====================================================================================
``@function``  A definition. ``@class``, ``@variable`` (kept if it is not nested) and ``@member``
               (a variable that is also kept in classes) are too.
``@name``      Its name. A function without one is a lambda.
``@whole``     Its first to its last line; without it, those of the definition itself.
``@place``     Where it is; without it, the place of its name, or else its own.
``@body``      What it contains; without it, all of it.
``@until``     What its signature ends before.
``@label``     What comes before its name, such as the type of a method in Go.
``@scope``     Names in it come after its ``@label``, such as those in an ``impl`` of Rust.
``@outer``     What begins before the definition ``@inner``, such as with its decorators.
``@decorator`` A decorator on the lines above a definition. ``@comment`` documents it.
``@docstring`` Documents what it is in.
``@call``      A call, with its ``@name`` and ``@receiver``, or else with its ``@callee``: settings
               ``name`` and ``receiver`` are fields of that. A pattern with both would keep a match
               open for each call of a chain.
``@use``       A name that is read. Settings ``name`` and ``receiver`` are fields of it.
``@local``     The name of a parameter or of a local variable.
``@other``     Names in it are no uses.
``@renamed``   Another name that something gets, as in an import.
``@import``    An import of ``@imported`` from ``@module`` as ``@alias``. Settings: ``imported``
               is the name if it is not written, ``before`` comes before the module.
``@base``      A base class of ``@derived``; without that, of the class it is in.
============== ====================================================================================

If several matches define or call the same node, the one with most captures counts.
"""

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from sidecypher_procedures.code.model import LANGUAGES, Language


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """A grammar of a language.

    Attributes:
        package: The package that contains it.
        function: Its function in that package.
        queries: The names of the files with its query, without ``.scm``.
    """

    language: Language
    package: str
    function: str = "language"
    queries: tuple[str, ...]


def _grammar_named_after(language: Language) -> Grammar:
    return Grammar(language=language, package=f"tree_sitter_{language}", queries=(language,))


def _typescript(function: str) -> Grammar:
    return Grammar(
        language="typescript",
        package="tree_sitter_typescript",
        function=function,
        queries=("ecmascript", "typescript"),
    )


_TYPESCRIPT: Final = _typescript("language_typescript")
_GRAMMARS: Final = {language: _grammar_named_after(language) for language in LANGUAGES} | {
    "javascript": Grammar(
        language="javascript",
        package="tree_sitter_javascript",
        queries=("ecmascript", "javascript"),
    ),
    "typescript": _TYPESCRIPT,
}
_SUFFIXES: Final = {
    ".py": _GRAMMARS["python"],
    ".pyi": _GRAMMARS["python"],
    ".js": _GRAMMARS["javascript"],
    ".cjs": _GRAMMARS["javascript"],
    ".mjs": _GRAMMARS["javascript"],
    ".jsx": _GRAMMARS["javascript"],
    ".ts": _TYPESCRIPT,
    ".cts": _TYPESCRIPT,
    ".mts": _TYPESCRIPT,
    ".tsx": _typescript("language_tsx"),
    ".go": _GRAMMARS["go"],
    ".java": _GRAMMARS["java"],
    ".rs": _GRAMMARS["rust"],
    ".rb": _GRAMMARS["ruby"],
    ".rake": _GRAMMARS["ruby"],
}


def language_of(path: str) -> Language | None:
    """Return the language of a file by its suffix, None if it cannot be read.

    Example:
        >>> language_of("shop/cart.py")
        'python'
    """
    grammar = _SUFFIXES.get(PurePosixPath(path).suffix.lower())
    return grammar.language if grammar else None


def grammar_of(path: str, language: Language) -> Grammar:
    """Return the grammar of a file: that of its suffix if it is one of the language."""
    grammar = _SUFFIXES.get(PurePosixPath(path).suffix.lower())
    return grammar if grammar and grammar.language == language else _GRAMMARS[language]
