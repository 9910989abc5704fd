"""The names that files import, as entities."""

import pytest

from sidecypher_procedures.code.assembly import Assembly
from sidecypher_procedures.code.extraction import extract
from sidecypher_procedures.code.languages.grammars import language_of


def graph_of(path, text):
    """Return the graph of one file."""
    source = text.encode()
    assembly = Assembly("shop")
    assembly.add_file(extract(path, language_of(path), source), source)
    return assembly.finish()


def imports_of(path, text):
    """Return the entities of type `import`, by line and name."""
    found = [each for each in graph_of(path, text).entities if each.type == "import"]
    return sorted(found, key=lambda each: (each.start_line, each.name))


SOURCES = {
    "python": (
        "shop/cart.py",
        "import os.path, numpy as np\nfrom .all import *\nfrom .prices import price, tax as vat\n",
        ["np", "os.path", ".all", "price", "vat"],
    ),
    "javascript": (
        "cart.js",
        """import React, { useState as state } from 'react';
import * as all from './all';
import './style.css';
const { join } = require('path');
""",
        ["React", "state", "all", "./style.css", "join"],
    ),
    "go": (
        "cart.go",
        'package cart\nimport (\n"fmt"\n_ "embed"\nx "os"\n)\n',
        ["fmt", "embed", "x"],
    ),
    "java": ("A.java", "import java.util.List;\nimport java.io.*;", ["List", "java.io"]),
    "rust": ("a.rs", "use std::fmt::{self, Write as W};\n", ["W", "std::fmt"]),
    "ruby": ("a.rb", "require 'json'\nrequire_relative 'cart'\n", ["json", "./cart"]),
}


@pytest.mark.parametrize(("path", "text", "names"), SOURCES.values(), ids=SOURCES)
def test_each_imported_name_is_an_entity(path, text, names):
    """It has the name that the file uses, or that of the module if all of it is imported."""
    assert [each.name for each in imports_of(path, text)] == names


def test_an_import_is_contained_in_its_module():
    """Its place is the statement, its signature the line, and its name follows the module's."""
    graph = graph_of("shop/cart.py", "def f():\n    from shop.prices import (\n        price)\n")
    [entity] = [each for each in graph.entities if each.type == "import"]
    [module] = [each for each in graph.entities if each.type == "module"]

    assert (entity.qualified_name, entity.start_line, entity.end_line) == ("shop.cart.price", 2, 2)
    assert entity.signature == "from shop.prices import ("
    assert entity.chunk_id == graph.chunks[0].id
    assert [
        (each.source, each.line) for each in graph.relationships if each.target == entity.id
    ] == [(module.id, 2)]


@pytest.mark.parametrize("mark", ["\x0c", "\x0b", "\x1c", "\x85", "\u2028", "\r"])
def test_only_a_line_feed_ends_a_line_of_a_chunk(mark):
    """A chunk has the lines of its definition whatever is in the lines before it."""
    text = f"import os\n# {mark}\ndef one():\n    return 1\n\n\ndef two():\n    return 2\n"
    graph = graph_of("shop/cart.py", text)

    [two] = [each for each in graph.entities if each.name == "two"]
    [chunk] = [each for each in graph.chunks if each.id == two.chunk_id]
    assert (chunk.start_line, chunk.end_line) == (7, 8)
    assert chunk.text == "def two():\n    return 2"


def test_a_name_that_is_imported_twice_is_one_entity():
    """It is where it is imported first."""
    text = "try:\n    from fast import json\nexcept ImportError:\n    import json\n"
    [entity] = imports_of("a.py", text)

    assert (entity.name, entity.start_line) == ("json", 2)


def test_ids_of_imports_stay_when_others_come():
    """An edit of other lines changes no id, and a definition with the name has another one."""
    [before] = imports_of("a.py", "import json\n")
    [_, after] = imports_of("a.py", "import abc\n\n\nimport json\n\n\ndef json(): pass\n")

    assert before.id == after.id
    assert len({each.id for each in graph_of("a.py", "import f\ndef f(): pass\n").entities}) == 3


def test_many_imports_of_one_line_are_all_kept():
    """A file with ten thousand imports, or one without a line feed, is no problem."""
    text = "import " + ", ".join(f"a{number}" for number in range(10_000))

    assert len(imports_of("a.py", text)) == 10_000
