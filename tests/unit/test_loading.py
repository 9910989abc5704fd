"""Modules of procedures are found by folder; one that cannot be used keeps no other from it."""

import json
import sys

import pytest
from fix_modules import answer, good, names, write

from sidecypher.loading.loader import load


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


def test_a_worker_process_loads_what_has_procedures_for_it(folder, tmp_path_factory):
    """The others are not imported there; sidecypher's own procedures call any by name."""
    heavy = tmp_path_factory.mktemp("heavy")
    write(
        heavy, "heavy.py", good("kg.heavy").replace('"kg.heavy"', '"kg.heavy", executor="process"')
    )
    everywhere = load([folder, heavy])

    loaded = load([folder, heavy], only=everywhere.sources_for_workers)

    assert names(everywhere) == ["kg.good", "kg.heavy"]
    assert names(loaded) == ["kg.heavy"]
    assert set(loaded.parts) == {"sidecypher", str(heavy)}


def test_all_modules_of_a_package_are_loaded(folder):
    """What `__init__.py` does not import is imported all the same, but what is private."""
    write(folder, "kg/__init__.py", "")
    write(folder, "kg/main.py", good("kg.main"))
    write(folder, "kg/deep/__init__.py", "from .first import body")
    write(folder, "kg/deep/first.py", good("kg.first"))
    write(folder, "kg/deep/second.py", good("kg.second"))
    write(folder, "kg/_private.py", "raise RuntimeError")
    write(folder, "kg/__main__.py", "raise RuntimeError")

    loaded = load([folder])

    assert names(loaded) == ["kg.first", "kg.good", "kg.main", "kg.second"]
    assert loaded.left_out == {}
    assert {unit.name for unit in loaded.units} >= {"kg", "kg/main.py", "kg/deep/second.py"}


def test_a_module_of_a_package_that_cannot_be_imported_is_left_out_alone(folder):
    """The package and its other modules are in service."""
    write(folder, "kg/__init__.py", "")
    write(folder, "kg/bad.py", "raise RuntimeError('why')")
    write(folder, "kg/main.py", good("kg.main"))

    loaded = load([folder])

    assert names(loaded) == ["kg.good", "kg.main"]
    assert loaded.left_out == {"kg/bad.py": "RuntimeError at import: why"}


def test_a_package_that_cannot_be_imported_is_imported_once(folder):
    """Its modules, which would import it again, are not tried."""
    write(folder, "kg/__init__.py", "raise RuntimeError('why')")
    write(folder, "kg/main.py", good("kg.main"))

    assert load([folder]).left_out == {"kg": "RuntimeError at import: why"}


DECORATED = """
from sidecypher import Row, procedure

class Text(Row):
    value: str

"""
LOST = {
    "a static method": """
class Procedures:
    @staticmethod
    @procedure("kg.lost")
    def body() -> Text: ...
""",
    "a closure that is not kept": """
def make():
    @procedure("kg.lost")
    def body() -> Text: ...
make()
""",
    "the inner one of two decorators": """
@procedure("kg.outer")
@procedure("kg.lost")
def body() -> Text: ...
""",
    "a function that another one of its name replaces": """
@procedure("kg.lost")
def body() -> Text: ...
@procedure("kg.outer")
def body() -> Text: ...
""",
}


@pytest.mark.parametrize("how", LOST)
def test_what_is_decorated_but_offered_by_nobody_is_told(folder, how):
    """It is named with file and line, and with what to do, as a warning of its module."""
    write(folder, "own.py", DECORATED + LOST[how])
    # Python says where the first decorator of a function is.
    above = (DECORATED + LOST[how]).split('@procedure("kg.lost")')[0].rstrip(" ")
    line = above.count("\n") + (0 if above.endswith((")\n", "@staticmethod\n")) else 1)

    loaded = load([folder])

    told = loaded.left_out["kg.lost"]
    assert list(loaded.left_out) == ["kg.lost"]
    assert told.startswith(f"(own.py:{line}) is not offered: ")
    assert "Define it there" in told
    assert [(each.module, each.reason) for each in loaded.warnings] == [
        ("own.py", f"`kg.lost` {told}")
    ]
    # A reload in which nothing has changed knows it still.
    assert load([folder], loaded).left_out == loaded.left_out


def test_a_webhook_that_is_offered_by_nobody_is_told_too(folder):
    """Its path is named."""
    write(
        folder,
        "own.py",
        "from sidecypher import WebhookAnswer, WebhookRequest, webhook\n"
        "def make():\n"
        "    @webhook('/webhooks/lost')\n"
        "    async def body(request: WebhookRequest) -> WebhookAnswer: ...\n"
        "make()\n",
    )

    assert list(load([folder]).left_out) == ["/webhooks/lost"]


def test_what_a_folder_without_init_decorates_is_told(folder):
    """Such a folder is not imported: it may hold anything."""
    write(folder, "kg/main.py", good("kg.lost"))
    write(folder, "kg/other.py", "raise RuntimeError('imported')")

    loaded = load([folder])

    assert names(loaded) == ["kg.good"]
    assert loaded.failures == ()
    [(name, told)] = loaded.left_out.items()
    assert name == "kg.lost"
    assert told == (
        "(main.py:8) is not offered: its folder has no `__init__.py`. Put an empty one there"
    )


@pytest.mark.parametrize(
    ("decorator", "name"),
    [
        ('step("kg.lost")', "kg.lost"),
        ('background("kg.lost")', "kg.lost"),
        ('panel("lost", "Lost")', "lost"),
        ('procedure(name="kg.lost")', "kg.lost"),
    ],
)
def test_whatever_a_folder_without_init_decorates_is_told(folder, decorator, name):
    """Each decorator counts, and so does a name that is given by its keyword."""
    write(folder, "kg/main.py", f"import sidecypher\n\n@sidecypher.{decorator}\ndef body(): ...\n")

    assert list(load([folder]).left_out) == [name]


def test_a_file_that_a_package_hides_is_told(folder):
    """Python imports the package for both, so what the file decorates would be missing."""
    write(folder, "shop/__init__.py", good("kg.shop"))
    write(folder, "shop.py", good("kg.file"))

    loaded = load([folder])

    assert names(loaded) == ["kg.good", "kg.shop"]
    [failure] = loaded.failures
    assert failure.module == "shop.py"
    assert "`shop`" in failure.reason


def test_a_name_with_a_dot_is_told(folder):
    """Python cannot import such a file by its name."""
    write(folder, "shop.orders.py", good("kg.orders"))

    [failure] = load([folder]).failures

    assert failure.module == "shop.orders.py"
    assert "dot" in failure.reason


def test_what_one_module_decorates_and_another_offers_is_not_lost(folder):
    """A function that is made elsewhere, and procedures of a private module, have their place."""
    write(folder, "_made.py", good("kg.shared"))
    write(folder, "a_user.py", "from ._made import body\nfrom . import z_later\n")
    write(folder, "z_later.py", good("kg.later"))

    loaded = load([folder])

    assert names(loaded) == ["kg.good", "kg.later", "kg.shared"]
    assert loaded.left_out == {}


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
    assert "None" not in failure.reason.replace("No module", "")
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
    """Files that begin with `_` or `.`, and those that are not Python, are not loaded."""
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
    assert "another procedure (good.py:7) already has the name `kg.good`" in failure.reason


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
    assert "another procedure (a.py:7) already has the name `kg.many.batch`" in failure.reason
