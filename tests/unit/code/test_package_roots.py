"""Folders that are a package themselves, such as `django/` instead of the folder around it."""

import pytest

from sidecypher_procedures.code.analysis import analyse
from sidecypher_procedures.code.model import Request
from sidecypher_procedures.code.sources import read_sources

FILES = {
    "__init__.py": "from .cart import total\nfrom shop import prices\n\ntotal()\nprices.price()\n",
    "cart.py": "from shop.prices import price\n\n\ndef total():\n    return price()\n",
    "prices.py": "import shop.rates.http\n\n\ndef price():\n    return shop.rates.http.rate()\n",
    "rates/__init__.py": "",
    "rates/http.py": "import http\n\n\ndef rate():\n    return http.rate()\n",
    "http.py": "def rate():\n    return 2\n",
}
CALLS = {
    ("__init__", "cart.total"),
    ("__init__", "prices.price"),
    ("cart.total", "prices.price"),
    ("prices.price", "rates.http.rate"),
}


def indexed(folder, *, resolve=False):
    """Write the files into a folder, and return its graph: names of both ends by type."""
    for path, text in FILES.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    languages = ("python",)
    request = Request(repo_id="shop", root=str(folder), languages=languages, resolve=resolve)
    graph = analyse(request, read_sources(folder, languages))
    names = {
        each.id: f"the library {each.name}" if each.external else each.qualified_name
        for each in graph.entities
    }

    def edges(of):
        return {
            (names[each.source], names[each.target])
            for each in graph.relationships
            if each.type == of
        }

    return edges


@pytest.mark.parametrize("resolve", [False, True])
def test_imports_by_the_name_of_the_root_reach_its_files(tmp_path, resolve):
    """In `shop/`, `from shop.prices import price` is the function in `prices.py`."""
    edges = indexed(tmp_path / "shop", resolve=resolve)

    assert edges("calls") == CALLS
    assert ("cart", "prices") in edges("imports")
    assert ("prices", "rates.http") in edges("imports")


def test_names_begin_below_the_root(tmp_path):
    """The name of the folder is in no qualified name, so that no id depends on it."""
    edges = indexed(tmp_path / "shop")

    assert not {name for pair in edges("contains") for name in pair if name.startswith("shop")}


def test_a_module_of_the_root_is_no_package_of_python(tmp_path):
    """In a package, `import http` is Python's module, not the file `http.py` of the package."""
    edges = indexed(tmp_path / "shop")

    assert ("rates.http", "the library http") in edges("imports")
    assert ("rates.http.rate", "http.rate") not in edges("calls")


def test_a_folder_with_another_name_has_other_imports(tmp_path):
    """Only the name of the folder says how the package is imported."""
    edges = indexed(tmp_path / "shop-2.0")

    assert ("cart.total", "prices.price") not in edges("calls")


@pytest.mark.parametrize("resolve", [False, True])
def test_a_stub_does_not_hide_its_module(tmp_path, resolve):
    """Calls reach `cart.py` and not `cart.pyi`; a stub alone is a module like others."""
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "cart.pyi").write_text("def total() -> int: ...\n")
    (folder / "compiled.pyi").write_text("def fast() -> int: ...\n")
    (folder / "main.py").write_text("from shop import compiled\n\ncompiled.fast()\n")

    edges = indexed(folder, resolve=resolve)

    assert edges("calls") == CALLS | {("main", "compiled.fast")}
