"""JavaScript and TypeScript, whose types scip-typescript knows."""

import json
import os

import pytest
import shared_cache
from docs.pages import ROOT

from sidecypher_procedures.code.analysis import analyse
from sidecypher_procedures.code.model import Request
from sidecypher_procedures.code.scip import typescript
from sidecypher_procedures.code.sources import read_sources

SHOP = {
    "package.json": '{"name": "shop"}',
    "tsconfig.json": """{
        // A comment, as compilers allow.
        "extends": "./tsconfig.base.json",
        "include": ["nothing"],
    }""",
    "tsconfig.base.json": '{"compilerOptions": {"paths": {"@shop/*": ["./shop/*"]}}}',
    "shop/prices.ts": """\
export function price(name: string): number;
export function price(name: string, count: number): number;
export function price(name: string, count = 1): number {
  return count * reduced(name);
}
function reduced(name: string) { return name.length; }
export default class Table {
  constructor(private rows = new Map<string, number>()) {}
  get(name: string) { return this.rows.get(name); }
  get size() { return this.rows.size; }
}
""",
    "shop/cart.ts": """\
import { price as costs } from './prices.js';
export interface Item { total(): number; }
export class Apple implements Item {
  total() { return costs('apple'); }
}
export class Cart<T extends Item> {
  items: T[] = [];
  add(item: T): this { this.items.push(item); return this; }
  first(): T { return this.items[0]; }
  total() { return this.items.reduce((sum, item) => sum + item.total(), 0); }
}
""",
    "shop/index.ts": "export * from './cart';\nexport { default as Prices } from './prices';\n",
    "main.ts": """\
import { Apple, Cart } from '@shop/index';
import { Prices } from './shop';
/* 🍎 */ const cart = new Cart<Apple>().add(new Apple());
cart.first().total();
cart.total();
function get(map: Map<string, string>) { return map.get('a'); }
const table = new Prices();
table.get('apple');
table.size;
""",
    "old.js": """\
const { twice } = require('./helper');
const helper = require('./helper');
class Old { get() { return twice(1); } }
/** @param {Old} old */
function use(old) { return old.get() + helper.half(2); }
""",
    "helper.js": """\
function twice(x) { return x * 2; }
function half(x) { return x / 2; }
module.exports = { twice, half };
""",
}

INSTALL = "npm install --global @sourcegraph/scip-typescript@0.4.0"

CALLS = {
    ("shop.prices.price", "shop.prices.reduced", 4),
    ("shop.cart.Apple.total", "shop.prices.price", 4),
    ("shop.cart.Cart.total.<lambda1>", "shop.cart.Item.total", 10),
    ("main", "shop.cart.Cart", 3),
    ("main", "shop.cart.Apple", 3),
    ("main", "shop.cart.Cart.add", 3),
    ("main", "shop.cart.Cart.first", 4),
    ("main", "shop.cart.Apple.total", 4),
    ("main", "shop.cart.Cart.total", 5),
    ("main", "shop.prices.Table.constructor", 7),
    ("main", "shop.prices.Table.get", 8),
    ("old.Old.get", "helper.twice", 3),
    ("old.use", "old.Old.get", 5),
    ("old.use", "helper.half", 5),
}


@pytest.fixture(scope="session")
def indexers():
    """The folder with scip-typescript of npm."""
    return shared_cache.npm_packages("indexers") / ".bin"


@pytest.fixture
def installed(monkeypatch, indexers):
    monkeypatch.setenv("PATH", f"{indexers}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture
def missing(monkeypatch, tmp_path):
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


def write(root, files):
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def graph_of(root, **options):
    languages = ("javascript", "typescript")
    request = Request(repo_id="shop", root=str(root), languages=languages, **options)
    return analyse(request, read_sources(root, languages))


def calls(graph):
    names = {each.id: each.qualified_name for each in graph.entities}
    return {
        (names[each.source], names[each.target], each.line)
        for each in graph.relationships
        if each.type == "calls"
    }


def test_calls_are_resolved_by_types(tmp_path, installed):
    """Classes, generics, re-exports, aliases, defaults and CommonJS are followed, and no more."""
    graph = graph_of(write(tmp_path, SHOP))

    assert calls(graph) == CALLS
    assert {each.resolution for each in graph.relationships if each.type == "calls"} == {"typed"}
    assert graph.failed == {}


@pytest.mark.slow
def test_references_and_bases_are_typed(tmp_path, installed):
    """What a class implements and which property is read is known, too."""
    graph = graph_of(write(tmp_path, SHOP))

    names = {each.id: each.qualified_name for each in graph.entities}
    found = {
        (each.type, names[each.source], names[each.target])
        for each in graph.relationships
        if each.resolution == "typed"
    }
    assert ("inherits", "shop.cart.Apple", "shop.cart.Item") in found
    assert ("references", "main", "shop.prices.Table.size") in found


@pytest.mark.slow
def test_the_repository_is_not_changed(tmp_path, installed):
    """The compiler sees a copy: no file is written, and none of a library is read."""
    root = write(tmp_path / "shop", SHOP | {"node_modules/lib/index.ts": "syntax error("})

    graph_of(root)

    assert {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()} == {
        *SHOP,
        "node_modules/lib/index.ts",
    }


@pytest.mark.slow
def test_nothing_of_the_repository_is_run(tmp_path, installed):
    """Plugins of a configuration, programs in `node_modules` and scripts are left alone."""
    touch = f"require('fs').writeFileSync({str(tmp_path / 'run')!r}, '')"
    script = {"postinstall": f"node -e {touch}"}
    files = SHOP | {
        "tsconfig.json": '{"compilerOptions": {"plugins": [{"name": "bad"}]}}',
        "node_modules/bad/index.js": touch,
        "node_modules/typescript/lib/typescript.js": touch,
        "package.json": json.dumps({"name": "shop", "scripts": script}),
        "bad.js": touch,
    }

    graph_of(write(tmp_path / "shop", files))

    assert not (tmp_path / "run").exists()


CONFIGURATIONS = {
    "broken": "{",
    "of a library": '{"extends": "@tsconfig/node20/tsconfig.json"}',
    "unknown value": '{"compilerOptions": {"target": "es1"}}',
}


@pytest.mark.slow
@pytest.mark.parametrize("configuration", CONFIGURATIONS.values(), ids=CONFIGURATIONS)
def test_a_configuration_that_cannot_be_read_is_left_out(tmp_path, installed, configuration):
    """Without its configuration, only imports by its paths are missing."""
    graph = graph_of(write(tmp_path, SHOP | {"tsconfig.json": configuration}))

    assert ("main", "shop.prices.Table.get", 8) in calls(graph)
    assert graph.failed == {}


def test_without_the_indexer_names_have_to_do(tmp_path, missing):
    """If scip-typescript is not installed, files are resolved by names, and that is noted."""
    root = write(tmp_path / "shop", SHOP)

    graph = graph_of(root)

    assert graph.failed == {"scip-typescript": f"is not installed, run `{INSTALL}`"}
    assert calls(graph) == calls(graph_of(root, resolve=False))
    assert graph_of(root, resolve=False).failed == {}


@pytest.mark.parametrize("script", ["exit 1", "echo > index.scip", "exec sleep 600"])
def test_an_indexer_that_fails_is_noted(tmp_path, monkeypatch, script):
    """If scip-typescript fails or takes too long, names have to do."""
    program = tmp_path / "bin/scip-typescript"
    write(tmp_path, {"bin/scip-typescript": f"#!/bin/sh\n{script}\n"})
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(typescript, "_SECONDS", 1)

    graph = graph_of(write(tmp_path / "shop", SHOP))

    assert [*graph.failed] == ["scip-typescript"]
    assert ("old.use", "helper.half", 5) in calls(graph)


def test_the_version_is_the_tested_one():
    """Tests, the page and the code name one version of scip-typescript."""
    manifest = json.loads((ROOT / "tests/npm/indexers/package.json").read_text())

    assert manifest["dependencies"] == {"@sourcegraph/scip-typescript": typescript.VERSION}
    assert f"\n{INSTALL}\n" in (ROOT / "docs/code-resolution.md").read_text()


@pytest.mark.slow
def test_a_repository_without_its_languages_needs_no_indexer(tmp_path, missing):
    """A program in other languages is not told to install it."""
    root = write(tmp_path / "shop", {"a.py": "def f(): pass\n"})

    languages = ("python", "typescript")
    request = Request(repo_id="shop", root=str(root), languages=languages)
    graph = analyse(request, read_sources(root, languages))

    assert graph.failed == {}


@pytest.mark.slow
def test_an_edited_program_has_the_graph_of_a_new_one(server, session, tmp_path, indexers):
    """After an edit that changes a type, the graph is the one of a first indexing."""
    root = write(tmp_path / "typed", SHOP)
    path = {"PATH": f"{indexers}{os.pathsep}{os.environ['PATH']}"}
    edges = (
        "CALL code.edges('typed') YIELD source, target, type, resolution, filePath, line RETURN *"
    )

    def index():
        done = server.command("code", "index", root, "--repo", "typed", "--json", **path)
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout)

    index()
    assert index()["written"] == 0
    write(root, {"main.ts": SHOP["main.ts"].replace("map: Map<string, string>", "map: Prices")})
    assert index()["written"] > 0
    edited = session.run(edges).data()
    callers = session.run(
        "CALL code.callers('typed', 'Table.get') YIELD qualifiedName, filePath, line RETURN *"
    ).values("qualifiedName", "filePath", "line")

    session.run("CALL code.drop('typed')").consume()
    index()

    assert session.run(edges).data() == edited
    assert sorted(callers) == [["main", "main.ts", 8], ["main.get", "main.ts", 6]]
