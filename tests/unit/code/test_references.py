"""What functions and modules use without calling it, against what small programs should show."""

import pytest

from sidecypher_procedures.code.analysis import analyse
from sidecypher_procedures.code.model import LANGUAGES, Request
from sidecypher_procedures.code.sources import read_sources


def graph_of(folder, *, resolve=False, **sources):
    """Return the graph of files, given by their paths."""
    for path, text in sources.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    request = Request(repo_id="shop", root=str(folder), languages=LANGUAGES, resolve=resolve)
    return analyse(request, read_sources(folder, LANGUAGES))


def related(graph, of="references"):
    """Return source, target and resolution of the relationships of a type."""
    names = {each.id: each.qualified_name for each in graph.entities}
    return {
        (names[each.source], names[each.target], each.resolution)
        for each in graph.relationships
        if each.type == of
    }


def references(folder, **sources):
    """Return source and target of the references between files."""
    return {(one, other) for one, other, _ in related(graph_of(folder, **sources))}


# Python -------------------------------------------------------------------------------------------

PROGRAMS = {
    "a function as an argument": (
        {"a.py": "def f(): pass\ndef g(x): x.append(f)\n"},
        {("a.g", "a.f")},
    ),
    "a function in a table": (
        {"a.py": "def f(): pass\nTABLE = {'f': f}\ndef g(): return TABLE['f']()\n"},
        {("a", "a.f"), ("a.g", "a.TABLE")},
    ),
    "a variable of another module": (
        {
            "a.py": "LIMIT = 1\nlow, high = 1, 2\n",
            "b.py": "import a\nfrom a import low as least\ndef f(): return a.LIMIT + least\n",
        },
        {("b.f", "a.LIMIT"), ("b.f", "a.low")},
    ),
    "a name that a package hands on": (
        {
            "p/__init__.py": "from .a import LIMIT\nfrom p.b import *\n",
            "p/a.py": "LIMIT = 1\n",
            "p/b.py": "class B: pass\n",
            "c.py": "import p\nfrom p import LIMIT\ndef f(x): return isinstance(x, p.B), LIMIT\n",
        },
        {("c.f", "p.a.LIMIT"), ("c.f", "p.b.B")},
    ),
    "classes in types": (
        {
            "a.py": "class A: pass\nclass B: pass\nclass C: pass\n"
            "def f(x: A, *y: list[B]) -> 'C': z: C = x\n"
        },
        {("a.f", "a.A"), ("a.f", "a.B"), ("a.f", "a.C")},
    ),
    "classes in tests": (
        {
            "a.py": "class A(Exception): pass\nclass B: pass\nclass C: pass\ndef f(x):\n"
            "    try: isinstance(x, B)\n    except A: pass\n"
            "    match x:\n        case C(): pass\n"
        },
        {("a.f", "a.A"), ("a.f", "a.B"), ("a.f", "a.C")},
    ),
    "a property": (
        {
            "a.py": "class A:\n    @property\n    def size(self): return 1\n"
            "    @size.setter\n    def size(self, value): pass\n"
            "class B(A):\n    def twice(self): return self.size * 2\n"
            "def f(): return B().size\n"
        },
        {("a.B.twice", "a.A.size"), ("a.f", "a.A.size"), ("a.A", "a.A.size")},
    ),
    "a method that is not called": (
        {
            "a.py": "class A:\n    def run(self): pass\n    def start(self): return [self.run]\n"
            "def f(): return A.run\n"
        },
        {("a.A.start", "a.A.run"), ("a.f", "a.A"), ("a.f", "a.A.run")},
    ),
    "a nested function that is returned": (
        {"a.py": "def f():\n    def g(): pass\n    return g\n"},
        {("a.f", "a.f.g")},
    ),
    "a global that is written": (
        {"a.py": "count = 0\ndef f():\n    global count\n    count = count + 1\n"},
        {("a.f", "a.count")},
    ),
    "a call of what a variable has": (
        {"a.py": "def f(): pass\nrun = f\ndef g(): run()\n"},
        {("a", "a.f"), ("a.g", "a.run")},
    ),
    "a decorated function": (
        {
            "a.py": "def wrap(f):\n    def inner(): pass\n    return inner\n"
            "@wrap\ndef f(): pass\ndef g(): f()\n"
        },
        {("a.wrap", "a.wrap.inner"), ("a.g", "a.f")},
    ),
    # What is no reference:
    "a call": ({"a.py": "def f(): pass\ndef g(): f()\n"}, set()),
    "a call and a use in one function": ({"a.py": "def f(): pass\ndef g(): f(); f\n"}, set()),
    "an object that is made": (
        {"a.py": "class A:\n    def __init__(self): pass\nclass B: pass\ndef f(): A(); B()\n"},
        set(),
    ),
    "a base class": ({"a.py": "class A: pass\nclass B(A): pass\n"}, set()),
    "a local name that hides another": (
        {
            "a.py": "def f(): pass\nLIMIT = 1\ndef g(f): return f\n"
            "def h():\n    LIMIT = 2\n    return LIMIT\ndef i(): return [f for f in ()], f\n"
        },
        set(),
    ),
    "a method of the same name as a function": (
        {"a.py": "def f(): pass\nclass A:\n    def f(self): pass\n    g = f\ndef h(x): x.f\n"},
        {("a.A", "a.A.f")},
    ),
    "an import": ({"a.py": "LIMIT = 1\n", "b.py": "from a import LIMIT\n"}, set()),
    "a function that names itself": ({"a.py": "def f(): return f\n"}, set()),
}


@pytest.mark.parametrize(("sources", "expected"), PROGRAMS.values(), ids=PROGRAMS)
def test_python_programs_refer_to_what_they_use(tmp_path, sources, expected):
    """A use of a function, class or variable is a reference, and nothing else is."""
    assert references(tmp_path, **sources) == expected


@pytest.mark.slow
def test_types_find_properties_that_the_flow_of_values_does_not(tmp_path):
    """pyrefly knows the object of a parameter; where both agree the reference is exact."""
    source = """
class A:
    @property
    def size(self): return 1
    def run(self): pass

def f(a: A): return a.size
def g(a: A): return a.run
def h(): return A().size
"""
    found = related(graph_of(tmp_path, resolve=True, **{"a.py": source}))

    assert {each for each in found if each[1] != "a.A"} == {
        ("a.f", "a.A.size", "typed"),
        ("a.g", "a.A.run", "typed"),
        ("a.h", "a.A.size", "exact"),
    }


def test_names_are_exact_and_attributes_flow(tmp_path):
    """Without types, what an attribute refers to depends on the flow of values."""
    source = "class A:\n    @property\n    def size(self): pass\ndef f(): return A().size\nx = f\n"

    assert related(graph_of(tmp_path, **{"a.py": source})) == {
        ("a.f", "a.A.size", "flow"),
        ("a", "a.f", "exact"),
    }


def test_a_reference_has_the_place_of_the_first_use(tmp_path):
    """Like a call, a reference has one relationship, with the first line and column."""
    graph = graph_of(tmp_path, **{"a.py": "LIMIT = 1\ndef f():\n    x = LIMIT\n    return LIMIT\n"})
    [found] = [each for each in graph.relationships if each.type == "references"]

    assert (found.path, found.line, found.column) == ("a.py", 3, 8)


# Other languages ----------------------------------------------------------------------------------

OTHERS = {
    "javascript": (
        {
            "prices.js": "export const LIMIT = 1;\nexport function price() {}\n",
            "cart.js": """
import { LIMIT, price } from './prices';
import * as prices from './prices';
const rules = { price };
class Cart {
  get size() { return LIMIT; }
  start() { return [this.size, prices.LIMIT, this.items.map(price)]; }
}
function open(limit) { return x instanceof Cart ? rules : limit; }
""",
        },
        {
            ("cart", "prices.price"),
            ("cart.Cart.size", "prices.LIMIT"),
            ("cart.Cart.start", "cart.Cart.size"),
            ("cart.Cart.start", "prices.LIMIT"),
            ("cart.Cart.start", "prices.price"),
            ("cart.open", "cart.Cart"),
            ("cart.open", "cart.rules"),
        },
    ),
    "javascript, no reference": (
        {
            "cart.js": """
const limit = 1;
function price() {}
class Cart { price() {} }
function a(limit) { return limit; }
function b({ limit, x: price }) { return [limit, price]; }
const c = limit => limit;
function d() { const limit = 2; return () => limit; }
function e() { price(); new Cart(); return { price: 1 }.price; }
function f() { try { limit = 2; } catch (limit) { return limit; } for (const price of []) price; }
class Small extends Cart {}
export { price as cost };
"""
        },
        set(),
    ),
    "typescript": (
        {
            "a.ts": "export interface Item {}\nexport type Id = string;\n",
            "b.tsx": """
import { Id, Item } from './a';
enum Day { Monday }
function Row(item: Item): Id { return Day.Monday; }
function table<Item>(rows: Item[]) { return <Row />; }
""",
        },
        {
            ("b.Row", "a.Item"),
            ("b.Row", "a.Id"),
            ("b.Row", "b.Day"),
            ("b.table", "b.Row"),
        },
    ),
    "go": (
        {
            "shop/a.go": "package shop\nconst Limit = 1\ntype Item struct { Limit int }\n",
            "shop/b.go": "package shop\nfunc price(i Item) int { return Limit }\n"
            "func each(Limit int) { run(price, Item{Limit: Limit}) }\n",
            "main.go": 'package main\nimport "x/shop"\nfunc f(i shop.Item) { g(shop.Limit) }\n',
        },
        {
            ("shop.b.price", "shop.a.Item"),
            ("shop.b.price", "shop.a.Limit"),
            ("shop.b.each", "shop.b.price"),
            ("shop.b.each", "shop.a.Item"),
            ("main.f", "shop.a.Item"),
            ("main.f", "shop.a.Limit"),
        },
    ),
    "java": (
        {
            "Cart.java": """
class Cart {
  static final int LIMIT = 1;
  int count;
  int size() { return count + LIMIT; }
  int more(int count) { return count + this.count; }
  void none() { int count = 1; use(count); size(); new Cart(); }
}
""",
            "Main.java": "class Main { int f(Cart c) { return Cart.LIMIT; } }\n",
        },
        {
            ("Cart.Cart.size", "Cart.Cart.count"),
            ("Cart.Cart.size", "Cart.Cart.LIMIT"),
            ("Cart.Cart.more", "Cart.Cart.count"),
            ("Main.Main.f", "Cart.Cart"),
            ("Main.Main.f", "Cart.Cart.LIMIT"),
        },
    ),
    "rust": (
        {
            "prices.rs": "pub const LIMIT: u8 = 1;\npub struct Item;\n",
            "main.rs": """
use crate::prices::{Item, LIMIT};
fn price(item: Item) -> u8 { LIMIT }
fn each(price: u8) { run(price); }
fn all(x: Vec<Item>) { x.iter().map(price); }
""",
        },
        {
            ("main.price", "prices.Item"),
            ("main.price", "prices.LIMIT"),
            ("main.all", "prices.Item"),
            ("main.all", "main.price"),
        },
    ),
    "ruby": (
        {
            "a.rb": "LIMIT = 1\nclass Cart\n  SIZE = 2\n  def size\n    SIZE + LIMIT\n  end\nend\n"
            "class Small < Cart\nend\ndef f\n  Cart.new + Cart::SIZE\nend\n",
        },
        {
            ("a.Cart.size", "a.Cart.SIZE"),
            ("a.Cart.size", "a.LIMIT"),
            ("a.f", "a.Cart"),
            ("a.f", "a.Cart.SIZE"),
        },
    ),
}


@pytest.mark.parametrize(("sources", "expected"), OTHERS.values(), ids=OTHERS)
def test_other_languages_refer_to_what_they_use(tmp_path, sources, expected):
    """Names are resolved by scopes and imports; a local variable hides what is around it."""
    assert references(tmp_path, **sources) == expected


def test_a_class_whose_name_occurs_once_is_a_guess(tmp_path):
    """Without an import, only the name says what a class is; names of functions say too little."""
    sources = {
        "a.js": "class Cart {}\nfunction price() {}\n",
        "b.js": "function f() { return [Cart, price]; }\n",
    }

    assert related(graph_of(tmp_path, **sources)) == {("b.f", "a.Cart", "unique_name")}
