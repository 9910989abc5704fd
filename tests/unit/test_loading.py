"""Modules of procedures are found by folder; one that cannot be used keeps no other from it."""

import json
import sys

import pytest
from fix_modules import answer, good, names, write

from sidecypher.loading import load


@pytest.fixture
def folder(tmp_path):
    """A folder with one good module."""
    write(tmp_path, "good.py", good("kg.good", "there"))
    return tmp_path


def test_a_folder_without_faults_loads_all_of_it(folder):
    """Every `*.py` file is loaded, and there is no failure."""
    write(folder, "two.py", good("kg.two"))

    loaded = load([folder])

    assert names(loaded) == ["kg.good", "kg.two"]
    assert loaded.failures == ()


def test_installed_packages_are_found_by_entry_point():
    """The shipped procedures are there without any folder."""
    loaded = load([])

    assert {"github.getIssue", "github.getPullRequest", "github.getRepository"} <= {
        found.name for found in loaded.registry
    }
    assert loaded.failures == ()


FAULTS = {
    "syntax": ("x =\ndef f(:\n", "syntax error in line 1: invalid syntax"),
    "import": (
        "import no_such_module_anywhere\n",
        "ModuleNotFoundError at import: No module named 'no_such_module_anywhere'",
    ),
    "raises": (
        "raise RuntimeError('first line\\nsecond line')\n",
        "RuntimeError at import: first line",
    ),
    "exit": ("import sys\nsys.exit('bye')\n", "SystemExit at import: bye"),
    "exit0": ("raise SystemExit\n", "SystemExit at import: "),
    "null": ("x = 1\0\n", "source code string cannot contain null bytes"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_module_that_cannot_be_imported_is_named_with_its_reason(folder, fault):
    """The file is named with one line of reason; the other modules are loaded."""
    content, reason = FAULTS[fault]
    (folder / "bad.py").write_text(content)

    loaded = load([folder])

    assert names(loaded) == ["kg.good"]
    [failure] = loaded.failures
    assert failure.module == "bad.py"
    assert reason in failure.reason
    assert "\n" not in failure.reason


def test_a_signature_error_is_told_with_place_and_hint(folder):
    """A procedure whose annotations are wrong is told by file, line and what to write."""
    write(folder, "bad.py", good("kg.bad").replace("body()", "body(value)"))

    [failure] = load([folder]).failures

    assert failure.module == "bad.py"
    assert "`body` (bad.py:7) has no type for `value`. Write `value: str`, say." in failure.reason


def test_a_missing_folder_is_a_failure_by_its_name(folder):
    """A folder that is not there is told by its name, not by its whole path."""
    loaded = load([folder / "nowhere", folder])

    [failure] = loaded.failures
    assert (failure.module, failure.reason.rstrip()) == ("nowhere", "there is no such folder.")
    assert names(loaded) == ["kg.good"]


def test_a_users_module_shadows_nothing(folder):
    """A file called as a module of the standard library is a module of its own."""
    write(folder, "json.py", good("kg.json", "mine"))

    loaded = load([folder])

    assert answer(loaded, "kg.json") == "mine"
    assert sys.modules["json"] is json
    assert not hasattr(json, "body")


def test_a_package_is_loaded_with_its_submodules(folder):
    """A folder with `__init__.py` is one module; procedures of its imported submodules count."""
    write(folder, "shop/__init__.py", "from . import orders\n")
    write(folder, "shop/orders.py", good("kg.orders", "ordered"))
    write(folder, "plain/not_a_package.py", good("kg.not"))

    loaded = load([folder])

    assert names(loaded) == ["kg.good", "kg.orders"]
    assert answer(loaded, "kg.orders") == "ordered"


def test_private_and_other_files_are_left_alone(folder):
    """Files that begin with `_` or `.`, and those that are no Python, are not loaded."""
    for name in ("_private.py", ".hidden.py", "notes.txt", "__init__.py"):
        (folder / name).write_text("raise RuntimeError('was loaded')\n")

    loaded = load([folder])

    assert names(loaded) == ["kg.good"]
    assert loaded.failures == ()


def test_a_module_may_import_a_private_one_beside_it(folder):
    """Modules of one folder reach each other by relative import."""
    (folder / "_words.py").write_text("WORD = 'shared'\n")
    source = good("kg.uses", "WORD").replace('"WORD"', "WORD")
    write(folder, "uses.py", "from ._words import WORD" + source)

    loaded = load([folder])

    assert loaded.failures == ()
    assert answer(loaded, "kg.uses") == "shared"


def test_a_name_that_another_module_has_leaves_the_later_module_out(folder):
    """Two modules that claim one name: the first keeps it, the second is left out whole."""
    write(folder, "later.py", good("kg.good", "stolen") + good("kg.more", body="more"))

    loaded = load([folder])

    assert names(loaded) == ["kg.good"]
    assert answer(loaded, "kg.good") == "there"
    [failure] = loaded.failures
    assert failure.module == "later.py"
    assert "another procedure already has the name `kg.good`" in failure.reason


def test_a_name_twice_in_one_module_is_a_failure(folder):
    """A module that claims one name twice is reported, and does not stop the others."""
    write(folder, "a.py", good("kg.twice", "1") + good("kg.twice", "2", body="two"))

    loaded = load([folder])

    assert "kg.good" in names(loaded)
    assert [failure.module for failure in loaded.failures] == ["a.py"]


def test_a_procedure_imported_from_the_module_beside_it_is_no_duplicate(folder):
    """A module that imports another one's procedure still offers its own."""
    source = "from .good import body as imported" + good("kg.own", body="own")
    write(folder, "later.py", source)

    loaded = load([folder])

    assert loaded.failures == ()
    assert names(loaded) == ["kg.good", "kg.own"]


def test_folders_with_equal_file_names_stay_apart(tmp_path):
    """Two folders may each have a file of the same name."""
    write(tmp_path / "one", "same.py", good("kg.one", "1"))
    write(tmp_path / "two", "same.py", good("kg.two", "2"))

    loaded = load([tmp_path / "one", tmp_path / "two"])

    assert (answer(loaded, "kg.one"), answer(loaded, "kg.two")) == ("1", "2")


def test_loading_again_sees_what_has_changed(folder):
    """A second load gives the present content: changed, new and removed files."""
    write(folder, "shop/__init__.py", "from .orders import *\n")
    write(folder, "shop/orders.py", good("kg.orders", "old"))
    write(folder, "gone.py", good("kg.gone"))
    first = load([folder])

    write(folder, "good.py", good("kg.good", "changed since"))
    write(folder, "shop/orders.py", good("kg.orders", "changed too"))
    write(folder, "new.py", good("kg.fresh"))
    (folder / "gone.py").unlink()
    second = load([folder])

    assert first.failures == second.failures == ()
    assert names(first) == ["kg.gone", "kg.good", "kg.orders"]
    assert names(second) == ["kg.fresh", "kg.good", "kg.orders"]
    assert answer(second, "kg.good") == "changed since"
    assert answer(second, "kg.orders") == "changed too"
    assert answer(first, "kg.good") == "there"


def test_a_batch_is_loaded_beside_its_procedure(folder):
    """`batch=True` makes a second procedure."""
    write(folder, "many.py", good("kg.many").replace('"kg.many"', '"kg.many", batch=True'))

    loaded = load([folder])

    assert names(loaded) == ["kg.good", "kg.many", "kg.many.batch"]


def test_a_name_that_a_batch_needs_is_not_given_twice(folder):
    """A module whose batch has the name of another procedure is left out whole."""
    write(folder, "a.py", good("kg.many.batch"))
    write(folder, "many.py", good("kg.many").replace('"kg.many"', '"kg.many", batch=True'))

    loaded = load([folder])

    assert names(loaded) == ["kg.good", "kg.many.batch"]
    [failure] = loaded.failures
    assert failure.module == "many.py"
    assert "another procedure already has the name `kg.many.batch`" in failure.reason
