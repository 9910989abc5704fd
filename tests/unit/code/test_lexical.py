"""Calls that are resolved by names, in the languages without a type checker."""

import pytest

from sidecypher_procedures.code.extraction import extract
from sidecypher_procedures.code.languages.grammars import language_of
from sidecypher_procedures.code.lexical import Names


def links(**sources):
    """Return the calls and bases of files: names of both ends, and the way of resolution."""
    paths = {name.replace("__", "/").replace("_", "."): text for name, text in sources.items()}
    files = {path: extract(path, language_of(path), text.encode()) for path, text in paths.items()}
    return {
        (
            files[link.source.path].declarations[link.source.index].path_in_file,
            files[link.target.path].declarations[link.target.index].path_in_file,
            link.resolution,
        )
        for link in Names(files.values()).links()
        if link.type != "references"
    }


LOCAL = {
    "javascript": {"a_js": "function f() {}\nfunction g() { f(); }"},
    "typescript": {"a_ts": "function f(): void {}\nfunction g(): void { f(); }"},
    "go": {"a_go": "package a\nfunc f() {}\nfunc g() { f() }"},
    "rust": {"a_rs": "fn f() {}\nfn g() { f(); }"},
    "ruby": {"a_rb": "def f\nend\ndef g\n  f()\nend"},
}


@pytest.mark.parametrize("sources", LOCAL.values(), ids=LOCAL)
def test_a_function_of_the_same_file_is_exact(sources):
    """A bare name is the function that the file declares."""
    assert links(**sources) == {("g", "f", "exact")}


OWN = {
    "javascript": {"a_js": "class A { f() {}\n g() { this.f(); } }\nclass B { f() {} }"},
    "typescript": {"a_ts": "class A { f() {}\n g() { this.f(); } }\nclass B { f() {} }"},
    "java": {"A_java": "class A { void f() {}\n void g() { this.f(); } }\nclass B { void f() {} }"},
    "rust": {
        "a_rs": "struct A;\nstruct B;\nimpl A { fn f(&self) {}\n fn g(&self) { self.f(); } }\n"
        "impl B { fn f(&self) {} }"
    },
    "ruby": {
        "a_rb": "class A\n def f\n end\n def g\n  self.f()\n end\nend\nclass B\n def f\n end\nend"
    },
}


@pytest.mark.parametrize("sources", OWN.values(), ids=OWN)
def test_a_method_of_the_object_itself_is_that_of_its_class(sources):
    """A call on `this` or `self` is typed: another class with such a method changes nothing."""
    assert ("A.g", "A.f", "typed") in links(**sources)
    assert not [link for link in links(**sources) if link[1] == "B.f"]


IMPORTED = {
    "javascript": {
        "shop__prices_js": "export function price() {}",
        "other_js": "export function price() {}",
        "main_js": "import { price } from './shop/prices';\nfunction buy() { price(); }",
    },
    "typescript": {
        "shop__prices_ts": "export function price(): void {}",
        "other_ts": "export function price(): void {}",
        "main_ts": "import * as prices from './shop/prices';\nfunction buy() { prices.price(); }",
    },
    "go": {
        "prices__a_go": "package prices\nfunc other() {}",
        "prices__b_go": "package prices\nfunc price() {}",
        "other__c_go": "package other\nfunc price() {}",
        "main_go": 'package main\nimport "example.com/shop/prices"\nfunc buy() { prices.price() }',
    },
    "java": {
        "shop__Prices_java": "package shop; class Prices { static void price() {} }",
        "other__Other_java": "package other; class Other { static void price() {} }",
        "Main_java": "import shop.Prices;\nclass Main { void buy() { Prices.price(); } }",
    },
    "rust": {
        "prices_rs": "pub fn price() {}",
        "other_rs": "pub fn price() {}",
        "main_rs": "use crate::prices::price;\nfn buy() { price(); }",
    },
    "ruby": {
        "prices_rb": "class Prices\n def self.price\n end\nend",
        "other_rb": "class Other\n def self.price\n end\nend",
        "main_rb": "require_relative 'prices'\ndef buy\n  Prices.price()\nend",
    },
}


@pytest.mark.parametrize("sources", IMPORTED.values(), ids=IMPORTED)
def test_an_imported_function_is_exact(sources):
    """The import says which of two functions of a name is called."""
    [(caller, callee, resolution)] = links(**sources)

    assert (caller.split(".")[-1], callee.split(".")[-1], resolution) == ("buy", "price", "exact")
    assert not callee.startswith("Other")


INHERITED = {
    "javascript": {"a_js": "class A { f() {} }\nclass B extends A { f() { super.f(); } }"},
    "typescript": {"a_ts": "class A { f() {} }\nclass B extends A { f() { super.f(); } }"},
    "java": {"A_java": "class A { void f() {} }\nclass B extends A { void f() { super.f(); } }"},
    "ruby": {"a_rb": "class A\n def f\n end\nend\nclass B < A\n def f\n  super()\n end\nend"},
}


@pytest.mark.parametrize("sources", INHERITED.values(), ids=INHERITED)
def test_super_is_what_the_class_inherits(sources):
    """A method that calls the one that it overrides does not call itself."""
    found = links(**sources)

    assert ("B.f", "A.f", "typed") in found
    assert not [link for link in found if link[:2] == ("B.f", "B.f")]


def test_super_of_a_class_of_a_library_is_nothing_here():
    """A base class that no file defines has no method that could be called."""
    assert links(a_js="class B extends Away { f() { super.f(); } }") == set()


def test_super_in_rust_is_the_module_around():
    """A function of the parent module is found like any other one."""
    source = "fn helper() {}\nmod inner { fn f() { super::helper(); } }"

    assert [link[1] for link in links(a_rs=source)] == ["helper"]


def test_a_name_that_occurs_once_is_a_guess():
    """A method of an object of unknown class is found if only one function has its name."""
    sources = {"a_js": "class A { rare() {} }\nfunction g(x) { x.rare(); x.common(); }"}

    assert links(**sources) == {("g", "A.rare", "unique_name")}


def test_a_name_that_occurs_twice_is_left_out():
    """Two methods of one name are no answer."""
    source = "class A { f() {} }\nclass B { f() {} }\nfunction g(x) { x.f(); }"

    assert links(a_js=source) == set()


def test_a_base_of_another_file_is_found():
    """A class inherits from the imported one."""
    found = links(
        base_ts="export class Base {}",
        other_ts="export class Base {}",
        main_ts="import { Base } from './base';\nclass A extends Base {}",
    )

    assert found == {("A", "Base", "exact")}
