"""Calls and references that a SCIP index knows."""

import os
from pathlib import Path

import pytest
from fix_scip import DEFINITION, GO, at, document, go_document, index, number, occurrence, part
from hypothesis import given
from hypothesis import strategies as st

from sidecypher_procedures.code import sources
from sidecypher_procedures.code.analysis import analyse
from sidecypher_procedures.code.errors import BadIndex, CodeError
from sidecypher_procedures.code.extraction import extract
from sidecypher_procedures.code.model import LANGUAGES, Request
from sidecypher_procedures.code.scip.format import Index
from sidecypher_procedures.code.scip.resolution import resolve
from sidecypher_procedures.code.sources import read_sources

BUYS = {("buy", "Cart.Add", 10, "typed"), ("buy", "Tree.Add", 11, "typed")}


@pytest.fixture
def program(tmp_path):
    """Write a program and its indexes, and return its graph."""

    def write(files, *indexes, **request):
        root = tmp_path / "program"
        root.mkdir(exist_ok=True)
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        names = [f"{place}.scip" for place in range(len(indexes))]
        for name, content in zip(names, indexes, strict=True):
            (root / name).write_bytes(content)
        options = {"scip": tuple(names), "resolve": False} | request
        asked = Request(repo_id="shop", root=str(root), languages=LANGUAGES, **options)
        return analyse(asked, read_sources(root, asked.languages, asked.scip))

    return write


def related(graph, kind="calls"):
    """Return the relationships of a type: names of both ends, line, and resolution."""
    names = {
        each.id: each.qualified_name.removeprefix(f"{_module(each.path)}.")
        for each in graph.entities
    }
    return {
        (names[each.source], names[each.target], each.line, each.resolution)
        for each in graph.relationships
        if each.type == kind
    }


def _module(path):
    return path.rpartition(".")[0].replace("/", ".")


def test_a_method_of_two_types_is_resolved(program):
    """The index knows the type of a receiver, which names do not show."""
    assert related(program({"shop.go": GO})) == set()
    assert related(program({"shop.go": GO}, index(go_document()))) == BUYS


RUBY = """\
class Cart
  def add
  end
end

class Tree
  def add
  end
end

def buy(cart)
  cart.add
end
"""


def test_any_language_is_resolved(program):
    """An index of Ruby is read as one of Go is."""
    symbol = "scip-ruby gem shop 1.0 Cart#add()."
    known = document(
        "shop.rb",
        occurrence(at(RUBY, "Cart\n  def |add|"), symbol, DEFINITION),
        occurrence(at(RUBY, "cart.|add|"), symbol),
    )

    assert related(program({"shop.rb": RUBY}, index(known))) == {("buy", "Cart.add", 12, "typed")}


UNITS = {"utf-8": 1, "utf-16-le": 2, "utf-32-le": 3}


@pytest.mark.parametrize("says_so", [True, False], ids=["named", "not named"])
@pytest.mark.parametrize("unit", UNITS)
def test_columns_count_what_the_index_counts(program, unit, says_so):
    """Columns count bytes, units of UTF-16 or characters; what fits counts if it is not said."""
    text = "function f() {}\nfunction g(o) { '€𝒳ü€'; o.f(); }\nclass A { f() {} }\n"
    symbol = "x . . . a/f()."
    known = document(
        "a.js",
        occurrence(at(text, "function |f|", unit), symbol, DEFINITION),
        occurrence(at(text, "'; |o|.", unit), "local 0"),
        occurrence(at(text, "o.|f|(", unit), symbol),
        encoding=UNITS[unit] if says_so else 0,
    )

    assert related(program({"a.js": text}, index(known))) == {("g", "f", 2, "typed")}


def test_ranges_of_newer_indexers_are_read(program):
    """The range may be a message of its own instead of a list of numbers."""
    text = "class A { f() {} }\nclass B { f() {} }\nfunction g(o) { o.f(); }\n"
    symbol = "x . . . a/B#f()."

    def ranged(place, roles):
        row, start, end = place
        line = number(1, row) + number(2, start) + number(3, end)
        return part(8, line) + part(2, symbol) + number(3, roles)

    known = document("a.js", ranged(at(text, "B { |f|"), DEFINITION), ranged(at(text, "o.|f|"), 0))

    assert related(program({"a.js": text}, index(known))) == {("g", "B.f", 3, "typed")}


def test_a_function_of_a_library_is_not_guessed(program):
    """A symbol that no file defines ends the search: a function of the same name is another."""
    text = "class A { push() {} }\nfunction g(o) { o.push(); }\n"
    known = document("a.js", occurrence(at(text, "o.|push|"), "x npm lib 1 Array#push()."))

    assert related(program({"a.js": text})) == {("g", "A.push", 2, "unique_name")}
    assert related(program({"a.js": text}, index(known))) == set()


def test_a_parameter_is_not_the_function_of_its_name(program):
    """A call of a parameter has no target, whatever else has the name."""
    text = "function done() {}\nfunction g(done) { done(); }\n"
    known = document(
        "a.js",
        occurrence(at(text, "g(|done|"), "local 0", DEFINITION),
        occurrence(at(text, "{ |done|("), "local 0"),
    )

    assert related(program({"a.js": text}, index(known))) == set()


def test_files_that_are_not_in_the_index_are_resolved_by_names(program):
    """A file without a document keeps what names show."""
    other = "package shop\n\nfunc f() {}\nfunc g() { f() }\n"

    graph = program({"shop.go": GO, "other.go": other}, index(go_document()))

    assert related(graph) == BUYS | {("g", "f", 4, "exact")}
    assert graph.failed == {}


def test_references_and_bases_are_resolved(program):
    """What a name refers to and what a class inherits from is typed, too."""
    files = {
        "a.ts": "export class Base {}\nexport const LIMIT = 1;\n",
        "b.ts": "class B extends a.Base {}\nfunction f() { return a.LIMIT; }\n",
    }
    base, limit = "x . . . `a.ts`/Base#", "x . . . `a.ts`/LIMIT."
    known = index(
        document(
            "a.ts",
            occurrence(at(files["a.ts"], "class |Base|"), base, DEFINITION),
            occurrence(at(files["a.ts"], "const |LIMIT|"), limit, DEFINITION),
        ),
        document(
            "b.ts",
            occurrence(at(files["b.ts"], "a.|Base|"), base),
            occurrence(at(files["b.ts"], "a.|LIMIT|"), limit),
        ),
    )

    graph = program(files, known)

    assert related(graph, "inherits") == {("B", "Base", 1, "typed")}
    assert related(graph, "references") == {("f", "LIMIT", 2, "typed")}


def test_an_object_of_two_types_has_two_targets(program):
    """A name with several symbols is of each of them."""
    text = "class A { f() {} }\nclass B { f() {} }\nfunction g(o) { o.f(); }\n"
    call = at(text, "o.|f|")
    known = document(
        "a.js",
        occurrence(at(text, "A { |f|"), "x . . . a/A#f().", DEFINITION),
        occurrence(at(text, "B { |f|"), "x . . . a/B#f().", DEFINITION),
        occurrence(call, "x . . . a/A#f()."),
        occurrence(call, "x . . . a/B#f()."),
    )

    assert related(program({"a.js": text}, index(known))) == {
        ("g", "A.f", 3, "typed"),
        ("g", "B.f", 3, "typed"),
    }


def test_a_function_is_called_not_the_interface_of_its_name(program):
    """If a name is that of a type, too, calls reach the function only."""
    text = "interface make { x: 1 }\nfunction make() {}\nfunction g() { make(); }\n"
    call = at(text, "{ |make|(")
    known = document(
        "a.ts",
        occurrence(at(text, "interface |make|"), "x . . . a/make#", DEFINITION),
        occurrence(at(text, "function |make|"), "x . . . a/make().", DEFINITION),
        occurrence(call, "x . . . a/make#"),
        occurrence(call, "x . . . a/make()."),
    )

    graph = program({"a.ts": text}, index(known))

    [line] = [
        each.start_line
        for each in graph.entities
        for call in graph.relationships
        if call.type == "calls" and call.target == each.id
    ]
    assert line == 2


def test_another_name_is_followed(program):
    """A function that an export or an import renames is found by its own symbol."""
    files = {
        "a.ts": "function inner() {}\nexport { inner as outer };\n",
        "b.ts": "import { outer as last } from './a';\nfunction g() { last(); }\n",
    }
    symbol = "x . . . `a.ts`/inner()."
    known = index(
        document(
            "a.ts",
            occurrence(at(files["a.ts"], "function |inner|"), symbol, DEFINITION),
            occurrence(at(files["a.ts"], "as |outer|"), symbol),
        ),
        document(
            "b.ts",
            occurrence(at(files["b.ts"], "as |last|"), symbol),
            occurrence(at(files["b.ts"], "{ |last|("), symbol),
        ),
    )

    assert related(program(files, known)) == {("g", "inner", 2, "typed")}


def test_a_property_hands_a_function_on(program):
    """The property of `{ price }` is the function that has the name there."""
    text = "function price() {}\nconst shop = { price };\nfunction g() { shop.price(); }\n"
    place = at(text, "{ |price| }")
    known = document(
        "a.js",
        occurrence(at(text, "function |price|"), "x . . . a/price().", DEFINITION),
        occurrence(place, "x . . . a/price0:", DEFINITION),
        occurrence(place, "x . . . a/price()."),
        occurrence(at(text, "shop.|price|"), "x . . . a/price0:"),
    )

    assert related(program({"a.js": text}, index(known))) == {("g", "price", 3, "typed")}


def test_python_keeps_what_its_own_analysis_finds(program):
    """In Python, an index only adds targets of calls that have none."""
    text = "def f(): pass\ndef g(): pass\ndef h(o):\n    f()\n    o.g()\n"
    known = document(
        "a.py",
        occurrence(at(text, "def |f|"), "x . . . a/f().", DEFINITION),
        occurrence(at(text, "def |g|"), "x . . . a/g().", DEFINITION),
        occurrence(at(text, "    |f|("), "x . . . a/f()."),
        occurrence(at(text, "o.|g|("), "x . . . a/g()."),
    )

    assert related(program({"a.py": text}, index(known))) == {
        ("h", "f", 4, "flow"),
        ("h", "g", 5, "typed"),
    }


def test_the_first_of_two_indexes_counts(program):
    """If two indexes know a name, the one that is named first decides."""
    text = "class A { f() {} }\nclass B { f() {} }\nfunction g(o) { o.f(); }\n"

    def known(owner):
        symbol = f"x . . . a/{owner}#f()."
        return index(
            document(
                "a.js",
                occurrence(at(text, f"{owner} {{ |f|"), symbol, DEFINITION),
                occurrence(at(text, "o.|f|"), symbol),
            )
        )

    assert related(program({"a.js": text}, known("B"), known("A"))) == {("g", "B.f", 3, "typed")}


@pytest.mark.parametrize("place", ["here", "on another machine"])
def test_an_index_of_a_part_of_the_repository_is_read(program, tmp_path, place):
    """Paths in an index begin at the root of its project, or else where they fit."""
    root = tmp_path / "program"
    known = index(
        go_document(),
        root=(root / "shop").as_uri() if place == "here" else "file:///ci/shop",
    )
    (root / "shop").mkdir(parents=True)
    (root / "shop/index.scip").write_bytes(known)

    graph = program({"shop/shop.go": GO}, scip=("shop/index.scip",))

    assert related(graph) == BUYS
    assert graph.failed == {}


def test_documents_of_other_files_are_counted(program):
    """Files outside of the repository, and languages that are not read, say nothing."""
    outside = [
        document(path, occurrence((0, 0, 4), "x . . . a/f().", DEFINITION))
        for path in ("../secret.go", "/etc/passwd", "none.go", "")
    ]

    graph = program({"shop.go": GO}, index(go_document(), *outside))

    assert related(graph) == BUYS
    assert graph.failed == {"0.scip": "4 documents are of other files than those indexed"}


STALE = {
    "a line was added": lambda text: text.replace("\tc.Add()", "\n\tc.Add()"),
    "a line was removed": lambda text: text.replace("\tc.Add()\n", ""),
    "lines were swapped": lambda text: text.replace("\tc.Add()\n\tt.Add()", "\tt.Add()\n\tc.Add()"),
    "a type was changed": lambda text: text.replace("buy(c *Cart", "buy(c *Tree"),
    "the end was removed": lambda text: text.replace("\tc.Add()\n\tt.Add()\n", ""),
    "it is another file": lambda _: "package shop\n",
}


@pytest.mark.parametrize("edit", STALE.values(), ids=STALE)
def test_an_index_of_an_older_text_says_nothing(program, edit):
    """A file that has changed is resolved by names, and named."""
    edited = edit(GO)
    known = index(go_document())

    graph = program({"shop.go": edited}, known)

    assert related(graph) == related(program({"shop.go": edited}))
    assert graph.failed["shop.go"].startswith("differs from its SCIP index in ")


def test_a_changed_import_is_noticed(program):
    """A path that names another module than the index says is an older text."""
    files = {
        "v3.ts": "export function f() {}\n",
        "v4.ts": "export function f() {}\n",
        "a.ts": "import { f } from './v4';\nfunction g() { f(); }\n",
    }
    symbol = "x . . . `v3.ts`/f()."
    known = index(
        document("v3.ts", occurrence(at(files["v3.ts"], "function |f|"), symbol, DEFINITION)),
        document(
            "a.ts",
            occurrence(at(files["a.ts"], "from |'./v4'|"), "x . . . `v3.ts`/"),
            occurrence(at(files["a.ts"], "{ |f| }"), symbol),
            occurrence(at(files["a.ts"], "{ |f|("), symbol),
        ),
    )

    [target] = [each.target for each in program(files, known).relationships if each.type == "calls"]

    [path] = [each.path for each in program(files, known).entities if each.id == target]
    assert path == "v4.ts"


def test_a_target_in_a_changed_file_is_found_by_its_name_only(program):
    """Where a file has changed, calls of it from others are resolved by names."""
    files = {
        "a.ts": "// new\nexport function f() {}\nexport function e() {}\n",
        "b.ts": "import { f } from './a';\nfunction g() { f(); }\n",
    }
    symbol = "x . . . `a.ts`/f()."
    older = "export function f() {}\nexport function e() {}\n"
    known = index(
        document(
            "a.ts",
            occurrence(at(older, "function |f|"), symbol, DEFINITION),
            occurrence(at(older, "function |e|"), "x . . . `a.ts`/e().", DEFINITION),
        ),
        document("b.ts", occurrence(at(files["b.ts"], "{ |f|("), symbol)),
    )

    graph = program(files, known)

    assert related(graph) == {("g", "f", 2, "exact")}
    assert [*graph.failed] == ["a.ts"]


def _as_file(path):
    path.write_bytes(index(go_document()))


BAD = {
    "empty": lambda path: path.write_bytes(b""),
    "no documents": lambda path: path.write_bytes(index()),
    "cut off": lambda path: path.write_bytes(index(go_document())[:-1]),
    "a text": lambda path: path.write_text("what is this?"),
    "a folder": lambda path: path.mkdir(),
    "missing": lambda path: None,
    "a pipe": os.mkfifo,
    "a link": lambda path: path.symlink_to(path.parent.parent / "other.scip"),
}


@pytest.mark.parametrize("make", BAD.values(), ids=BAD)
def test_what_is_no_index_is_refused_by_name(program, tmp_path, make):
    """A file that cannot be an index is an error that names it."""
    (tmp_path / "program").mkdir()
    make(tmp_path / "program/shop.scip")

    with pytest.raises(BadIndex, match=r"`shop\.scip`") as caught:
        program({"shop.go": GO}, scip=("shop.scip",))

    assert str(tmp_path) not in str(caught.value)


@pytest.mark.parametrize("name", ["../shop.scip", "{outside}", "links/shop.scip", "\0"])
def test_an_index_outside_of_the_root_is_refused(program, tmp_path, name):
    """No path and no link leads out of the repository."""
    root = tmp_path / "program"
    root.mkdir()
    _as_file(tmp_path / "shop.scip")
    (root / "links").symlink_to(tmp_path)

    with pytest.raises(BadIndex, match="is not below the root"):
        program({"shop.go": GO}, scip=(name.format(outside=tmp_path / "shop.scip"),))


def test_a_path_may_be_absolute(program, tmp_path):
    """An absolute path counts if it is below the root."""
    (tmp_path / "program").mkdir()
    path = tmp_path / "program/shop.scip"
    _as_file(path)

    assert related(program({"shop.go": GO}, scip=(str(path),))) == BUYS


def test_a_large_index_is_refused(program, tmp_path, monkeypatch):
    """More bytes than the limit are not read."""
    monkeypatch.setattr(sources, "LARGEST_INDEX", 100)

    with pytest.raises(BadIndex, match="too large"):
        program({"shop.go": GO}, index(go_document()))


@given(st.binary() | st.integers(0).map(lambda end: index(go_document())[:end]))
def test_any_bytes_are_an_index_or_an_error(content):
    """Whatever a file holds, it is read or refused."""
    _read(content)


@given(st.data())
def test_any_document_is_read_or_an_error(data):
    """Whatever a document holds, it is read or refused."""
    content = bytearray(go_document())
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), max_size=5)):
        content[place] = data.draw(st.integers(0, 255))
    _read(index(bytes(content)))


def _read(content):
    try:
        read = Index("shop.scip", content, Path("/shop"))
        resolve([read], [extract("shop.go", "go", GO.encode())], {"shop.go": GO.encode()})
    except CodeError:
        return
