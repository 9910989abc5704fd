"""Declarations, calls, imports and bases that the syntax of a file shows."""

import ast
import os
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecypher_procedures.code.extraction import DEEPEST, LONGEST_TEXT, extract
from sidecypher_procedures.code.languages.grammars import language_of
from sidecypher_procedures.code.model import LANGUAGES

PATHS = {
    "python": "shop/cart.py",
    "javascript": "shop/cart.js",
    "typescript": "shop/cart.tsx",
    "go": "shop/cart.go",
    "java": "shop/Cart.java",
    "rust": "shop/cart.rs",
    "ruby": "shop/cart.rb",
}
STDLIB = Path(os.__file__).parent
PARSED = [
    *sorted((STDLIB / "json").glob("*.py")),
    *sorted((STDLIB / "asyncio").glob("*.py")),
    STDLIB / "dataclasses.py",
    STDLIB / "typing.py",
]


def read(language, source):
    """Return what a source without syntax errors shows."""
    file = extract(PATHS[language], language, source.encode())

    assert file.error == ""
    return file


def declared(file):
    """Return the path and the type of each declaration but the file."""
    return [(each.path_in_file, each.type) for each in file.declarations[1:]]


def named(file, path):
    """Return the declaration with a path."""
    return next(each for each in file.declarations if each.path_in_file == path)


def called(file):
    """Return where each call is, its receiver and its name."""
    return [
        (file.declarations[each.inside].path_in_file, each.receiver, each.name)
        for each in file.calls
    ]


def imported(file):
    return [(each.module, each.name, each.alias) for each in file.imports]


def based(file):
    return [(file.declarations[each.inside].path_in_file, each.name) for each in file.bases]


# Files --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("a.py", "python"),
        ("a.pyi", "python"),
        ("a.mjs", "javascript"),
        ("a.jsx", "javascript"),
        ("a.cts", "typescript"),
        ("a.TSX", "typescript"),
        ("a/b.go", "go"),
        ("a.java", "java"),
        ("a.rs", "rust"),
        ("a.rake", "ruby"),
        ("a.md", None),
        ("py", None),
        (".py", None),
        ("", None),
    ],
)
def test_a_suffix_says_the_language(path, language):
    """Other files are not read."""
    assert language_of(path) == language


def test_every_language_has_a_suffix():
    """And the suffix that the tests use is one of that language."""
    assert {language: language_of(path) for language, path in PATHS.items()} == {
        language: language for language in LANGUAGES
    }


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_file_is_the_first_declaration(language):
    """It is a module named after the file and has all of its lines."""
    file = extract(PATHS[language], language, b"\n\n\n")
    [module] = file.declarations

    assert (file.path, file.language, file.error) == (PATHS[language], language, "")
    assert (module.name, module.path_in_file, module.type) == (
        Path(PATHS[language]).stem,
        "",
        "module",
    )
    assert (module.line, module.column, module.start_line, module.end_line) == (1, 0, 1, 3)
    assert module.parent is None


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_suffix_of_another_language_does_not_matter(language):
    """The language is what the caller says."""
    assert extract("a.txt", language, b"").error == ""
    assert extract("a.py", language, b"").language == language


# Python -------------------------------------------------------------------------------------------


def test_definitions_of_python():
    """Functions, methods, nested functions, classes, and variables of the file."""
    file = read(
        "python",
        """
import os
LIMIT = 1
LIMIT = 2
low, (high) = 1, 2
(left, right) = low, high
size: int = 3
if LIMIT:
    maybe = None
class Cart:
    field = 1
    def add(self):
        local = 2
        def check(): pass
    class Item: pass
async def main(): pass
""",
    )

    assert declared(file) == [
        ("LIMIT", "variable"),
        ("low", "variable"),
        ("left", "variable"),
        ("right", "variable"),
        ("size", "variable"),
        ("maybe", "variable"),
        ("Cart", "class"),
        ("Cart.add", "function"),
        ("Cart.add.check", "function"),
        ("Cart.Item", "class"),
        ("main", "function"),
    ]
    assert [file.declarations[each.parent].path_in_file for each in file.declarations[7:]] == [
        "",
        "Cart",
        "Cart.add",
        "Cart",
        "",
    ]


def test_a_definition_is_where_its_keyword_is_and_starts_at_its_first_decorator():
    """`async` is part of the keyword."""
    file = read(
        "python",
        """class A:
    @first
    # why

    @second(1)
    async def f(self): pass

    @third
    class B: pass
""",
    )
    f, b = named(file, "A.f"), named(file, "A.B")

    assert (f.start_line, f.line, f.column, f.end_line) == (2, 6, 4, 6)
    assert (b.start_line, b.line, b.column, b.end_line) == (8, 9, 4, 9)


def test_lambdas_are_numbered_in_what_contains_them():
    """The defaults of a function are outside of it, and a variable gives no name to a lambda."""
    file = read(
        "python",
        """
key = lambda a: lambda: a
def f(g=lambda: 1):
    return [lambda: 2, lambda: 3]
last = lambda: 4
""",
    )

    assert declared(file) == [
        ("key", "variable"),
        ("<lambda1>", "function"),
        ("<lambda1>.<lambda1>", "function"),
        ("f", "function"),
        ("f.<lambda1>", "function"),
        ("f.<lambda2>", "function"),
        ("<lambda2>", "function"),
        ("last", "variable"),
        ("<lambda3>", "function"),
    ]


def test_calls_have_a_receiver():
    """A callee without a name, such as another call, gives a call without one."""
    file = read(
        "python",
        """
def f():
    a.b.c(g())
    h()()
    d[0](1)
    "".join(x)
    super().f()
""",
    )

    assert called(file) == [
        ("f", "a.b", "c"),
        ("f", "", "g"),
        ("f", "", ""),
        ("f", "", "h"),
        ("f", "", ""),
        ("f", '""', "join"),
        ("f", "super()", "f"),
        ("f", "", "super"),
    ]


def test_what_is_evaluated_outside_of_a_definition_is_called_outside():
    """Decorators, defaults, annotations and bases."""
    file = read(
        "python",
        """
@deco()
def f(a: note() = default()) -> returns():
    body()
class A(base(), metaclass=meta()):
    attribute = inside()
g = lambda a=outer(): inner()
""",
    )

    assert called(file) == [
        ("", "", "deco"),
        ("", "", "note"),
        ("", "", "default"),
        ("", "", "returns"),
        ("f", "", "body"),
        ("", "", "base"),
        ("", "", "meta"),
        ("A", "", "inside"),
        ("", "", "outer"),
        ("<lambda1>", "", "inner"),
    ]


def test_imports_of_python():
    """Each name gives an import, with the module as it is written, and no declaration."""
    file = read(
        "python",
        """
import a, b.c
import d.e as f
from .g import h, i as j
from .. import k
from l.m import *
from __future__ import annotations
def f():
    from n import (o,
        p)
""",
    )

    assert imported(file) == [
        ("a", "", ""),
        ("b.c", "", ""),
        ("d.e", "", "f"),
        (".g", "h", ""),
        (".g", "i", "j"),
        ("..", "k", ""),
        ("l.m", "*", ""),
        ("__future__", "annotations", ""),
        ("n", "o", ""),
        ("n", "p", ""),
    ]
    assert declared(file) == [("f", "function")]
    assert [each.inside for each in file.imports[-2:]] == [1, 1]
    assert [each.line for each in file.imports[-3:]] == [7, 9, 9]


def test_bases_of_python():
    """Subscripts and keywords are left out."""
    file = read("python", "class A(B, c.D, Generic[T], metaclass=M, *more): pass\nclass E(A): pass")

    assert based(file) == [("A", "B"), ("A", "c.D"), ("A", "Generic"), ("E", "A")]
    assert [each.line for each in file.bases] == [1, 1, 1, 2]


def test_docstrings_of_python():
    """The first expression of a file, class or function if it is a text."""
    file = read(
        "python",
        '''# License
"""The file."""
class A:
    # why
    r"""The class.

    And more.
    """
    def f(self):
        'The function.'
        "Not this."
    def g(self):
        x = 1
        """Nor this."""
    def h(self):
        f"""Nor {this}."""
    def i(self): """One line."""
if A:
    "Nor this."
''',
    )

    assert [(each.path_in_file, each.docstring) for each in file.declarations] == [
        ("", "The file."),
        ("A", "The class.\n\nAnd more."),
        ("A.f", "The function."),
        ("A.g", ""),
        ("A.h", ""),
        ("A.i", "One line."),
    ]


def test_a_signature_ends_before_the_body():
    """It may have several lines and has no decorators."""
    file = read(
        "python",
        """
@deco
def f(a,
      b=1) -> int:  # why
    pass
class A(B): pass
x = [
    lambda a: a
]
""",
    )

    assert [each.signature for each in file.declarations] == [
        "",
        "def f(a,\n      b=1) -> int",
        "class A(B)",
        "x = [",
        "lambda a:",
    ]


def nodes_of(tree):
    """Return all nodes of a module; positions in f-strings are wrong before Python 3.12."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.JoinedStr):
            waiting.extend(ast.iter_child_nodes(node))


def lines_of_texts(tree):
    """Return the lines with f-strings."""
    return {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for line in range(node.lineno, node.end_lineno + 1)
    }


@pytest.mark.parametrize("path", PARSED, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_positions_are_those_of_ast(path):
    """Functions, classes, lambdas and calls of the standard library are where Python has them."""
    source = path.read_bytes()
    tree = ast.parse(source)
    texts = lines_of_texts(tree)
    definitions, calls = Counter(), Counter()
    for node in nodes_of(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            start = min(each.lineno for each in [*node.decorator_list, node])
            definitions[node.lineno, node.col_offset, node.name, start] += 1
        elif isinstance(node, ast.Lambda):
            definitions[node.lineno, node.col_offset, "", node.lineno] += 1
        elif isinstance(node, ast.Call):
            calls[node.lineno, node.col_offset] += 1
    file = extract(path.name, "python", source)
    found = Counter(
        (each.line, each.column, "" if each.name.startswith("<") else each.name, each.start_line)
        for each in file.declarations
        if each.type in {"function", "class"}
    )
    found_calls = Counter((each.line, each.column) for each in file.calls)

    assert file.error == ""
    assert definitions == found
    assert calls <= found_calls
    assert {line for line, _ in found_calls - calls} <= texts


# JavaScript and TypeScript ------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["javascript", "typescript"])
def test_definitions_of_javascript(language):
    """A function or class has the name of what it is assigned to."""
    file = read(
        language,
        """
function f() { const local = 1; function nested() {} }
async function* generate() {}
const arrow = (a) => a, value = 1;
let written = async function other() {};
class Cart {
  constructor() {}
  add() { return [1].map((x) => x) }
  static price = () => 1;
  #secret() {}
  get total() { return 1 }
}
const Item = class extends Cart {};
export const exported = () => 2;
export default function () {}
const handlers = { save() {}, load: () => 1, drop: function () {} };
exports.out = function () {};
Cart.prototype.remove = function () {};
var [first, second] = [1, 2];
const { third, a: fourth } = {};
""",
    )

    assert sorted(declared(file)) == sorted(
        [
            ("f", "function"),
            ("f.nested", "function"),
            ("generate", "function"),
            ("arrow", "function"),
            ("value", "variable"),
            ("written", "function"),
            ("Cart", "class"),
            ("Cart.constructor", "function"),
            ("Cart.add", "function"),
            ("Cart.add.<lambda1>", "function"),
            ("Cart.price", "function"),
            ("Cart.#secret", "function"),
            ("Cart.total", "function"),
            ("Item", "class"),
            ("exported", "function"),
            ("<lambda1>", "function"),
            ("handlers", "variable"),
            ("handlers.save", "function"),
            ("handlers.load", "function"),
            ("handlers.drop", "function"),
            ("out", "function"),
            ("Cart.remove", "function"),
            ("first", "variable"),
            ("second", "variable"),
            ("third", "variable"),
            ("fourth", "variable"),
        ]
    )
    assert file.declarations[named(file, "Cart.remove").parent].path_in_file == "Cart"
    assert named(file, "arrow").signature == "arrow = (a) =>"


def test_definitions_of_typescript():
    """Interfaces, enums, types and namespaces are classes; those without a body count."""
    file = read(
        "typescript",
        """
interface Shape<T> { area(a: T): number; side: number }
abstract class Base { abstract go(): void; private run = (): void => {} }
enum Color { Red = 1 }
type Point = { x: number };
namespace Geo.Inner { export const one = 1; export function two(): void {} }
declare function outer(a: string): void;
function over(a: string): void;
function over(a: any) {}
const generic = async <T,>(x: T) => x;
""",
    )

    assert declared(file) == [
        ("Shape", "class"),
        ("Shape.area", "function"),
        ("Base", "class"),
        ("Base.go", "function"),
        ("Base.run", "function"),
        ("Color", "class"),
        ("Point", "class"),
        ("Geo.Inner", "class"),
        ("Geo.Inner.one", "variable"),
        ("Geo.Inner.two", "function"),
        ("outer", "function"),
        ("over", "function"),
        ("over", "function"),
        ("generic", "function"),
    ]


@pytest.mark.parametrize("language", ["javascript", "typescript"])
def test_calls_of_javascript(language):
    """`new` and `super` are calls too."""
    file = read(
        language,
        """
class A extends B {
  constructor() { super(1); this.x.run(new C(), new ns.D()) }
}
const f = () => g()();
a?.b?.(); `t${h()}`;
""",
    )

    assert called(file) == [
        ("A.constructor", "", "super"),
        ("A.constructor", "this.x", "run"),
        ("A.constructor", "", "C"),
        ("A.constructor", "ns", "D"),
        ("f", "", ""),
        ("f", "", "g"),
        ("", "a", "b"),
        ("", "", "h"),
    ]
    assert [(each.line, each.column) for each in file.calls[:3]] == [(3, 18), (3, 28), (3, 39)]


def test_components_are_called_where_their_functions_are():
    """What is in braces of JSX is code."""
    file = read("typescript", "function View() { return <B x={f()}>{g()}</B> }")

    assert called(file) == [("View", "", "f"), ("View", "", "g")]


@pytest.mark.parametrize("language", ["javascript", "typescript"])
def test_imports_of_javascript(language):
    """Those of `import`, `require` and exports from elsewhere; none gives a variable."""
    file = read(
        language,
        """
import d, { x as y, z } from './m';
import * as ns from "n";
import 'side';
export * from './q';
export * as all from './s';
export { k, l as m } from './r';
const { p, q: r } = require('w');
const e = require('e');
require('only');
""",
    )

    assert imported(file) == [
        ("./m", "default", "d"),
        ("./m", "x", "y"),
        ("./m", "z", ""),
        ("n", "", "ns"),
        ("side", "", ""),
        ("./q", "*", ""),
        ("./s", "", "all"),
        ("./r", "k", ""),
        ("./r", "l", "m"),
        ("w", "p", ""),
        ("w", "q", "r"),
        ("e", "", "e"),
        ("only", "", ""),
    ]
    assert declared(file) == []


def test_imports_of_typescript():
    """Types are imported as values are."""
    file = read(
        "typescript",
        "import type { Q } from './q'; import { type W } from './w'; import r = require('r');",
    )

    assert imported(file) == [("./q", "Q", ""), ("./w", "W", ""), ("r", "", "r")]


def test_bases_of_javascript_and_typescript():
    """Those of `extends` and `implements`, without type arguments."""
    javascript = read("javascript", "class A extends b.C {}; const D = class extends A {};")
    typescript = read(
        "typescript",
        """
class A<T> extends b.C<T> implements I<T>, n.J {}
abstract class B extends A implements I {}
interface I<T> extends K, n.L, M<T> {}
""",
    )

    assert based(javascript) == [("A", "b.C"), ("D", "A")]
    assert based(typescript) == [
        ("A", "b.C"),
        ("A", "I"),
        ("A", "n.J"),
        ("B", "A"),
        ("B", "I"),
        ("I", "K"),
        ("I", "n.L"),
        ("I", "M"),
    ]


def test_comments_above_a_definition_document_it():
    """Without their marks, also above decorators and `export`; a gap or code ends them."""
    file = read(
        "typescript",
        """
/**
 * Adds.
 *   More.
 */
export const add = (a: number) => a;
// one
// two
@deco
class A {
  x = 1; // no
  f() {}
  /* This. */
  @first
  // And this.
  @second() g() {}
  // not this

  h() {} i() {}
}
""",
    )

    assert named(file, "add").docstring == "Adds.\n  More."
    assert (named(file, "A").docstring, named(file, "A").start_line) == ("one\ntwo", 9)
    assert named(file, "A.f").docstring == ""
    assert named(file, "A.g").docstring == "This.\nAnd this."
    assert (named(file, "A.g").start_line, named(file, "A.g").line) == (14, 16)
    assert named(file, "A.h").docstring == named(file, "A.i").docstring == ""


# Go -----------------------------------------------------------------------------------------------


def test_definitions_of_go():
    """A method is named after its type, whether that is declared before, after or elsewhere."""
    file = read(
        "go",
        """package shop

func (c *Cart) Add(n int) error {
	check := func() {}
	go func() {}()
	var local int
	return nil
}

// Cart is one.
// More.
type Cart struct{ n int }

type (
	Item interface{ Price() int }
	Cents int
)
type Alias = Cart

const A, B = 1, 2

var handler = func() {}
var (
	low  = 1
	high int
)

func (Other[K]) Do() {}
func Max[T any](a T) {}
""",
    )

    assert sorted(declared(file)) == sorted(
        [
            ("Cart", "class"),
            ("Cart.Add", "function"),
            ("Cart.Add.check", "function"),
            ("Cart.Add.<lambda1>", "function"),
            ("Item", "class"),
            ("Item.Price", "function"),
            ("Cents", "class"),
            ("Alias", "class"),
            ("A", "variable"),
            ("B", "variable"),
            ("handler", "function"),
            ("low", "variable"),
            ("high", "variable"),
            ("Other.Do", "function"),
            ("Max", "function"),
        ]
    )
    cart, add = named(file, "Cart"), named(file, "Cart.Add")
    assert (add.name, file.declarations[add.parent]) == ("Add", cart)
    assert named(file, "Other.Do").parent == 0
    assert cart.docstring == "Cart is one.\nMore."
    assert add.signature == "func (c *Cart) Add(n int) error"


def test_parents_come_before_what_they_contain():
    """Also if a method is above its type."""
    file = read("go", "package a\nfunc (t T) M() { f := func() {} }\ntype T int\n")

    assert declared(file) == [("T", "class"), ("T.M", "function"), ("T.M.f", "function")]
    assert [each.parent for each in file.declarations] == [None, 0, 1, 2]


def test_calls_imports_and_bases_of_go():
    """An embedded field is a base, and so is an interface in another."""
    file = read(
        "go",
        """package shop
import (
	"fmt"
	f "a/b"
	. "dot"
	_ "blank"
)
import "one"
type T struct {
	Base
	*pkg.Other
	List[int]
	x int
}
type I interface { io.Reader }
func run(t T) {
	fmt.Println(t.x.y())
	h[int](1)
	func() { z() }()
}
""",
    )

    assert called(file) == [
        ("run", "fmt", "Println"),
        ("run", "t.x", "y"),
        ("run", "", "h"),
        ("run", "", ""),
        ("run.<lambda1>", "", "z"),
    ]
    assert imported(file) == [
        ("fmt", "", ""),
        ("a/b", "", "f"),
        ("dot", "*", ""),
        ("blank", "", "_"),
        ("one", "", ""),
    ]
    assert based(file) == [("T", "Base"), ("T", "pkg.Other"), ("T", "List"), ("I", "io.Reader")]


# Java ---------------------------------------------------------------------------------------------


JAVA = """package shop;
import a.b.C;
import static a.B.c;
import a.b.*;
/** A cart. */
@Ann(x = 1)
public class Cart<T> extends x.B<T> implements I, J<T> {
  static final int MOST = 1; int low, high;
  private Runnable r = () -> go();
  public Cart() { super(1); this.x(); }
  /** Adds. */
  @Override
  public void add(int a) throws E {
    int local = 1;
    new C<T>();
    new x.D() { void hidden() { foo(); } };
    list.map(x -> x.y()).z();
  }
  class Inner { enum E implements I { X, Y; } }
  record R(int a) implements I { R { check(); } }
  interface K extends Q, P<T> { int C = 1; void z(); default void d() {} }
  @interface An { int v() default 1; }
}
"""


def test_definitions_of_java():
    """Classes in classes, and fields as their variables."""
    file = read("java", JAVA)

    assert declared(file) == [
        ("Cart", "class"),
        ("Cart.MOST", "variable"),
        ("Cart.low", "variable"),
        ("Cart.high", "variable"),
        ("Cart.r", "function"),
        ("Cart.Cart", "function"),
        ("Cart.add", "function"),
        ("Cart.add.hidden", "function"),
        ("Cart.add.<lambda1>", "function"),
        ("Cart.Inner", "class"),
        ("Cart.Inner.E", "class"),
        ("Cart.Inner.E.X", "variable"),
        ("Cart.Inner.E.Y", "variable"),
        ("Cart.R", "class"),
        ("Cart.R.R", "function"),
        ("Cart.K", "class"),
        ("Cart.K.C", "variable"),
        ("Cart.K.z", "function"),
        ("Cart.K.d", "function"),
        ("Cart.An", "class"),
        ("Cart.An.v", "function"),
    ]
    cart, add = named(file, "Cart"), named(file, "Cart.add")
    assert (cart.start_line, cart.line, cart.column, cart.docstring) == (6, 7, 13, "A cart.")
    assert (add.start_line, add.line, add.column, add.docstring) == (12, 13, 14, "Adds.")


def test_calls_imports_and_bases_of_java():
    """Constructors are called by `new`, `this` and `super`."""
    file = read("java", JAVA)

    assert called(file) == [
        ("Cart.r", "", "go"),
        ("Cart.Cart", "", "super"),
        ("Cart.Cart", "this", "x"),
        ("Cart.add", "", "C"),
        ("Cart.add", "x", "D"),
        ("Cart.add.hidden", "", "foo"),
        ("Cart.add", "list.map(x -> x.y())", "z"),
        ("Cart.add", "list", "map"),
        ("Cart.add.<lambda1>", "x", "y"),
        ("Cart.R.R", "", "check"),
    ]
    assert imported(file) == [("a.b", "C", ""), ("a.B", "c", ""), ("a.b", "*", "")]
    assert based(file) == [
        ("Cart", "x.B"),
        ("Cart", "I"),
        ("Cart", "J"),
        ("Cart.Inner.E", "I"),
        ("Cart.R", "I"),
        ("Cart.K", "Q"),
        ("Cart.K", "P"),
    ]


# Rust ---------------------------------------------------------------------------------------------


RUST = """
/// A cart.
/// More.
#[derive(Debug)]
pub struct Cart<T> { a: T }
enum Kind { A, B }
impl<T> Cart<T> {
    const MOST: i32 = 1;
    /// New.
    #[inline]
    pub fn new(a: T) -> Self {
        let f = |x| x.go(); Self::make(a); f(1); vec![1]; std::mem::swap::<T>()
    }
}
impl fmt::Display for Cart<i32> { fn fmt(&self) { self.a.b() } }
impl Clone for Other { fn clone(&self) {} }
trait Shape: Base + x::Y { fn sig(&self); fn def(&self) {} }
mod inner { pub fn f() {} struct Z; impl Z { fn m() {} } impl Shape for Z {} }
static LOW: i32 = 2;
type Alias = Cart<i32>;
macro_rules! mac { () => {} }
fn outer() { fn nested() {} const LOCAL: i32 = 1; items.map(|x| x + 1); }
"""


def test_definitions_of_rust():
    """What an `impl` contains is named after its type; an inline module is a class."""
    file = read("rust", RUST)

    assert sorted(declared(file)) == sorted(
        [
            ("Cart", "class"),
            ("Cart.MOST", "variable"),
            ("Cart.new", "function"),
            ("Cart.new.f", "function"),
            ("Cart.fmt", "function"),
            ("Kind", "class"),
            ("Other.clone", "function"),
            ("Shape", "class"),
            ("Shape.sig", "function"),
            ("Shape.def", "function"),
            ("inner", "class"),
            ("inner.f", "function"),
            ("inner.Z", "class"),
            ("inner.Z.m", "function"),
            ("LOW", "variable"),
            ("Alias", "class"),
            ("mac", "function"),
            ("outer", "function"),
            ("outer.nested", "function"),
            ("outer.<lambda1>", "function"),
        ]
    )
    cart, new = named(file, "Cart"), named(file, "Cart.new")
    assert (new.name, file.declarations[new.parent]) == ("new", cart)
    assert (cart.docstring, cart.start_line, cart.line) == ("A cart.\nMore.", 4, 5)
    assert (new.docstring, new.signature) == ("New.", "pub fn new(a: T) -> Self")


def test_calls_and_bases_of_rust():
    """Macros are called too, and a trait is a base of the type that has it."""
    file = read("rust", RUST)

    assert called(file) == [
        ("Cart.new.f", "x", "go"),
        ("Cart.new", "Self", "make"),
        ("Cart.new", "", "f"),
        ("Cart.new", "", "vec"),
        ("Cart.new", "std::mem", "swap"),
        ("Cart.fmt", "self.a", "b"),
        ("outer", "items", "map"),
    ]
    assert based(file) == [
        ("Cart", "fmt::Display"),
        ("Shape", "Base"),
        ("Shape", "x::Y"),
        ("inner.Z", "Shape"),
    ]


def test_imports_of_rust():
    """A list of names gives one import each, with the path before it."""
    file = read(
        "rust",
        """
use a::b::C;
use x;
use a::{self, b, c::{d, e as f, g::*}, h::i};
use a::b as q;
use s::*;
extern crate foo as bar;
mod other;
""",
    )

    assert imported(file) == [
        ("a::b", "C", ""),
        ("x", "", ""),
        ("a", "", ""),
        ("a", "b", ""),
        ("a::c", "d", ""),
        ("a::c", "e", "f"),
        ("a::c::g", "*", ""),
        ("a::h", "i", ""),
        ("a", "b", "q"),
        ("s", "*", ""),
        ("foo", "", "bar"),
        ("other", "", ""),
    ]


# Ruby ---------------------------------------------------------------------------------------------


RUBY = """require 'json'
require_relative 'foo/bar'
# A module.
# More.
module Shop
  class Cart < Base::Cart
    include Comparable, X::Y
    MOST = 1
    # Adds.
    def add(a, b = 1)
      bar(a).baz
      super
      super(1)
      Item.new(1) { |x| x.go }
      l = ->(x) { x.y() }
    end
    def self.make = compute()
    class << self
      def meta; end
    end
  end
end
class Shop::Item; end
$low = 1
def top; end
"""


def test_definitions_of_ruby():
    """Modules are classes, and methods of a class are named as others are."""
    file = read("ruby", RUBY)

    assert declared(file) == [
        ("Shop", "class"),
        ("Shop.Cart", "class"),
        ("Shop.Cart.MOST", "variable"),
        ("Shop.Cart.add", "function"),
        ("Shop.Cart.add.l", "function"),
        ("Shop.Cart.make", "function"),
        ("Shop.Cart.meta", "function"),
        ("Shop.Item", "class"),
        ("$low", "variable"),
        ("top", "function"),
    ]
    assert named(file, "Shop").docstring == "A module.\nMore."
    add = named(file, "Shop.Cart.add")
    assert (add.docstring, add.signature) == ("Adds.", "def add(a, b = 1)")
    assert named(file, "Shop.Item").name == "Item"


def test_calls_imports_and_bases_of_ruby():
    """What is included is a base. The path of `require_relative` is a relative one."""
    file = read("ruby", RUBY)

    assert called(file) == [
        ("", "", "require"),
        ("", "", "require_relative"),
        ("Shop.Cart", "", "include"),
        ("Shop.Cart.add", "bar(a)", "baz"),
        ("Shop.Cart.add", "", "bar"),
        ("Shop.Cart.add", "", "super"),
        ("Shop.Cart.add", "", "super"),
        ("Shop.Cart.add", "Item", "new"),
        ("Shop.Cart.add", "x", "go"),
        ("Shop.Cart.add.l", "x", "y"),
        ("Shop.Cart.make", "", "compute"),
    ]
    assert imported(file) == [("json", "", ""), ("./foo/bar", "", "")]
    assert based(file) == [
        ("Shop.Cart", "Base::Cart"),
        ("Shop.Cart", "Comparable"),
        ("Shop.Cart", "X::Y"),
    ]


# Bad input ----------------------------------------------------------------------------------------


def test_a_syntax_error_is_reported_with_its_line():
    """What could be read is there anyway."""
    file = extract("a.py", "python", b"def f():\n    g()\n\nclass (:\n\ndef h(): pass\n")

    assert file.error == "syntax error in line 4"
    assert {("f", "function"), ("h", "function")} <= set(declared(file))
    assert called(file)[0] == ("f", "", "g")


@pytest.mark.parametrize(
    "source",
    [
        b"",
        b"\0",
        b"\xff\xfe",
        bytes(range(256)) * 20,
        b"def f\xff(): x()\n",
        b"(" * 1_000,
        b"}" * 1_000,
        b'"""',
        b"/*",
        b"\r\r\r",
    ],
    ids=repr,
)
@pytest.mark.parametrize("language", LANGUAGES)
def test_no_bytes_are_refused(language, source):
    """The file itself is always declared."""
    file = extract(PATHS[language], language, source)

    assert file.declarations[0].type == "module"
    assert file.declarations[0].end_line >= 1


def test_line_ends_tabs_and_a_byte_order_mark_do_not_move_anything():
    """Columns count bytes, as those of `ast` do; the mark is no byte of the first line."""
    file = extract(
        "a.py",
        "python",
        b"\xef\xbb\xbff()\r\nif f:\r\n\tdef g():\r\n\t\tx = '\xc3\xa9'; h()\r\n",
    )

    assert [(each.line, each.column) for each in file.calls] == [(1, 0), (4, 12)]
    g = named(file, "g")
    assert (g.line, g.column, g.end_line, g.docstring) == (3, 1, 4, "")
    assert file.declarations[0].end_line == 4


def test_text_that_is_no_utf8_is_replaced():
    """A name or docstring is a text in any case."""
    file = extract("a.py", "python", b'def f():\n    "a\xffb"\n')

    assert named(file, "f").docstring == "a\N{REPLACEMENT CHARACTER}b"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "source",
    [
        b"(" * 10_000 + b")" * 10_000,
        b"f(" * 10_000 + b")" * 10_000,
        b"x" + b".a()" * 10_000,
        b"x = f(a) + " * 10_000 + b"1",
        b"a" * 1_000_000,
        b"a = '" + b"b" * 1_000_000 + b"'",
    ],
    ids=["parentheses", "calls", "chain", "sum", "name", "line"],
)
def test_deep_and_long_sources_take_no_long_time(language, source):
    """About as long as others of that size: nothing grows with the square of the depth."""
    before = time.process_time()
    file = extract(PATHS[language], language, source)

    assert time.process_time() - before < 10
    assert file.declarations[0].end_line == 1


def test_nodes_that_are_too_deep_are_not_read():
    """The others of a very long chain are."""
    file = extract("a.py", "python", b"f()\nx" + b".a()" * 100_000)

    assert 10_000 < len(file.calls) < 100_000
    assert max(len(each.receiver) for each in file.calls) == LONGEST_TEXT


@pytest.mark.parametrize(
    ("language", "source"),
    [
        ("python", b"lambda: " * 5_000 + b"f()"),
        ("javascript", b"() => " * 5_000 + b"f()"),
        ("rust", b"mod a {" * 5_000 + b"fn f() {}" + b"}" * 5_000),
    ],
)
def test_declarations_that_are_too_deep_belong_to_the_one_around_them(language, source):
    """Their names would be as long as they are deep."""
    file = extract(PATHS[language], language, source)

    assert len(file.declarations) == DEEPEST + 1
    assert all(each.inside == DEEPEST for each in file.calls)


def test_names_and_signatures_are_cut_off():
    """A text that something else contains again must have a bound."""
    file = extract("a.py", "python", b"def " + b"f" * 10_000 + b"(a): g()")

    assert len(file.declarations[1].name) == LONGEST_TEXT
    assert len(file.declarations[1].signature) == LONGEST_TEXT


def test_a_comment_documents_one_definition_of_a_line():
    """The first one, so that many definitions do not each contain it."""
    file = read("javascript", "/* c */ function f() {} function g() {}")

    assert [each.docstring for each in file.declarations] == ["", "c", ""]


@pytest.mark.parametrize("language", LANGUAGES)
@given(
    st.one_of(
        st.binary(max_size=200),
        st.lists(
            st.sampled_from(
                "def class fn func function impl A B f x . , : ; ( ) { } [ ] = => -> | @ # / * "
                "import from use as lambda async type struct module end include require ' \" \n "
                "\t \0 \xe9 trait mod for const var let interface extends super new ::".split(" ")
            )
        ).map(lambda words: " ".join(words).encode()),
    )
)
@settings(max_examples=60, deadline=None)
def test_any_bytes_give_a_file(language, source):
    """Parents come first, and all that is in a declaration points to one that there is."""
    file = extract(PATHS[language], language, source)
    count = len(file.declarations)

    assert file == extract(PATHS[language], language, source)
    assert all(each.parent < index for index, each in enumerate(file.declarations) if index)
    assert all(each.name for each in file.declarations)
    for index, each in enumerate(file.declarations):
        assert 1 <= each.start_line <= each.end_line, index
    for each in (*file.calls, *file.uses, *file.imports, *file.bases):
        assert 0 <= each.inside < count
        assert each.line >= 1
