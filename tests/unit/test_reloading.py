"""A second load takes what has changed, leaves the rest, and keeps what cannot be replaced."""

import os
import sys
from types import SimpleNamespace

import pytest
from fix_modules import answer, good, names, write

from sidecypher.loading import _sources as sources
from sidecypher.loading.changes import changes_between
from sidecypher.loading.loader import load


@pytest.fixture
def folder(tmp_path):
    """A folder with one good module."""
    write(tmp_path, "good.py", good("kg.good", "there"))
    return tmp_path


def reload(folder, before):
    """Load again; return what is there, and what each procedure's state is."""
    after = load([folder], before)
    changes = changes_between(before, after)
    return after, {change.name or change.module: change.state for change in changes}


def test_nothing_is_imported_again_when_nothing_has_changed(folder):
    """The procedures are the same objects, and nothing is reported."""
    before = load([folder])

    after, states = reload(folder, before)

    assert after.registry.get("kg.good") is before.registry.get("kg.good")
    assert states == {}


def test_a_saved_body_is_the_next_one_and_the_one_before_goes_on(folder):
    """Code that runs keeps what it was begun with; what is called next is new."""
    before = load([folder])

    write(folder, "good.py", good("kg.good", "changed"))
    after, states = reload(folder, before)

    assert states == {"kg.good": "changed"}
    assert (answer(before, "kg.good"), answer(after, "kg.good")) == ("there", "changed")


def test_a_file_saved_twice_within_a_second_gives_its_last_code(folder):
    """Bytecode of the first save, as old and as long as the second, is not used."""
    loaded = load([folder])
    facts = (folder / "good.py").stat()
    for value in ("first", "later", "third"):
        write(folder, "good.py", good("kg.good", value))
        # The same second and the same size, which is all that Python looks at.
        second = facts.st_mtime_ns // 1_000_000_000 * 1_000_000_000
        os.utime(folder / "good.py", ns=(second, second + hash(value) % 1_000_000))
        loaded = load([folder], loaded)

        assert answer(loaded, "kg.good") == value


def test_neighbours_of_a_saved_file_are_not_reported(folder):
    """Each procedure of a saved file has changed, the ones beside it have not."""
    write(folder, "other.py", good("kg.other"))
    before = load([folder])

    write(folder, "other.py", good("kg.other", "new"))
    _, states = reload(folder, before)

    assert states == {"kg.other": "changed"}


def test_what_any_module_may_use_changes_them_all(folder):
    """A saved file without procedures of its own may be imported or read by every module."""
    (folder / "_words.py").write_text("WORD = 'old'\n")
    source = good("kg.uses", "WORD").replace('"WORD"', "WORD")
    write(folder, "uses.py", "from ._words import WORD" + source)
    before = load([folder])

    (folder / "_words.py").write_text("WORD = 'new'\n")
    after, states = reload(folder, before)

    assert states == {"kg.good": "changed", "kg.uses": "changed"}
    assert answer(after, "kg.uses") == "new"


def test_a_changed_signature_is_told_with_what_to_do(folder):
    """A new parameter needs a new plugin, and `sidecypher.call` until then."""
    before = load([folder])

    write(folder, "good.py", good("kg.good").replace("body()", "body(value: str)"))
    after = load([folder], before)

    [change] = changes_between(before, after)
    assert (change.module, change.name, change.state) == (
        "good.py", "kg.good", "signature changed",
    )  # fmt: skip
    assert "Rebuild the plugin and restart Neo4j" in change.detail
    assert "`sidecypher.call` reaches it now" in change.detail


PLUGIN_OPTIONS = [
    "timeout=60.0",
    'availability="OPTIONAL"',
    "eager=True",
    "admin=True",
    "cache=1.0",
    'deprecated_by="kg.better"',
]


@pytest.mark.parametrize("option", PLUGIN_OPTIONS)
def test_a_changed_option_of_the_plugin_is_told_with_what_to_do(folder, option):
    """Neo4j keeps to the earlier one, for example who may call, until it has a new plugin."""
    before = load([folder])

    write(folder, "good.py", good("kg.good").replace('"kg.good"', f'"kg.good", {option}'))
    after = load([folder], before)

    [change] = changes_between(before, after)
    assert (change.name, change.state) == ("kg.good", "options changed")
    assert "Rebuild the plugin and restart Neo4j" in change.detail
    assert f"`{option.partition('=')[0]}`" in change.detail


def test_other_options_and_texts_need_no_new_plugin(folder):
    """Nothing but the sidecar follows them, or people read them."""
    before = load([folder])

    text = good("kg.good").replace('"kg.good"', '"kg.good", executor="process"')
    write(folder, "good.py", text.replace("-> Text:", '-> Text:\n    """Say so."""'))
    _, states = reload(folder, before)

    assert states == {"kg.good": "changed"}


def test_new_and_removed_modules(folder):
    """A new file's procedures are added, a deleted file's are removed."""
    write(folder, "gone.py", good("kg.gone"))
    before = load([folder])

    (folder / "gone.py").unlink()
    write(folder, "new.py", good("kg.fresh"))
    after, states = reload(folder, before)

    assert states == {"kg.fresh": "added", "kg.gone": "removed"}
    assert names(after) == ["kg.fresh", "kg.good"]


def test_a_module_that_fails_now_keeps_its_code_in_service(folder):
    """The procedures of a broken file answer as before, and are told with the reason."""
    write(folder, "other.py", good("kg.other", "old"))
    before = load([folder])

    write(folder, "good.py", "def broken(:\n")
    write(folder, "other.py", good("kg.other", "new"))
    after = load([folder], before)

    assert (answer(after, "kg.good"), answer(after, "kg.other")) == ("there", "new")
    failed, changed = changes_between(before, after)
    assert (failed.name, failed.state) == ("kg.good", "failed")
    assert failed.detail == "syntax error in line 1: invalid syntax; the code before it goes on"
    assert (changed.name, changed.state) == ("kg.other", "changed")
    assert [failure.module for failure in after.failures] == ["good.py"]


def test_a_broken_file_is_tried_again_though_it_has_not_changed(folder):
    """What failed may work now: it may have missed something outside of the folder."""
    write(folder, "needs.py", "import a_module_of_this_test\n" + good("kg.needs"))
    before = load([folder])
    assert [failure.module for failure in before.failures] == ["needs.py"]

    sys.modules["a_module_of_this_test"] = SimpleNamespace()
    try:
        after, states = reload(folder, before)
    finally:
        del sys.modules["a_module_of_this_test"]

    assert after.failures == ()
    assert states["kg.needs"] == "added"


def test_code_in_service_survives_many_failed_loads_and_is_replaced_at_last(folder):
    """A broken file may stay broken for long; the first good save takes over."""
    first = loaded = load([folder])
    for attempt in range(3):
        write(folder, "good.py", f"broken {attempt}\n")
        loaded = load([folder], loaded)

        assert loaded.registry.get("kg.good") is first.registry.get("kg.good")

    write(folder, "good.py", good("kg.good", "well"))
    loaded = load([folder], loaded)

    assert answer(loaded, "kg.good") == "well"
    assert loaded.failures == ()


def test_a_broken_module_without_procedures_is_told_by_its_name(folder):
    """A new file that cannot be imported has no procedure to be named."""
    before = load([folder])

    write(folder, "bad.py", "raise RuntimeError('why')\n")
    [change] = changes_between(before, load([folder], before))

    assert (change.module, change.name, change.state, change.detail) == (
        "bad.py", None, "failed", "RuntimeError at import: why",
    )  # fmt: skip


def test_a_procedure_that_moved_out_of_a_broken_module_is_the_new_one(folder):
    """A name belongs to the module that offers it now, before any kept one."""
    before = load([folder])

    write(folder, "good.py", "broken(\n")
    write(folder, "later.py", good("kg.good", "moved"))
    after = load([folder], before)

    assert answer(after, "kg.good") == "moved"


def test_code_that_runs_may_import_from_beside_it(folder):
    """A relative import inside of a body that was begun before the reload finds its own time's."""
    (folder / "_words.py").write_text("WORD = 'old'\n")
    source = good("kg.late", "x").replace('return Text(value="x")', "return Text(value=word())")
    lazy = "\ndef word():\n    from ._words import WORD\n    return WORD\n"
    write(folder, "late.py", "from . import _words" + source + lazy)
    before = load([folder])

    (folder / "_words.py").write_text("WORD = 'new'\n")
    after = load([folder], before)

    assert (answer(before, "kg.late"), answer(after, "kg.late")) == ("old", "new")


def test_generations_that_nothing_can_use_are_dropped(folder):
    """However often one saves, no more than the last two generations of modules stay."""
    loaded = load([folder])
    for value in "abcde":
        write(folder, "good.py", good("kg.good", value))
        loaded = load([folder], loaded)

    own = loaded.parts[str(folder)].source._family
    assert len({name.partition(".")[0] for name in sys.modules if name.startswith(own)}) == 2


def test_modules_out_of_service_are_told(folder):
    """What was replaced is known, so that its shared objects can be stopped; kept code is not."""
    write(folder, "other.py", good("kg.other"))
    first = load([folder])
    old = set(first.parts[str(folder)].source.modules())

    write(folder, "good.py", "broken(\n")
    second = load([folder], first)
    write(folder, "good.py", good("kg.good", "well"))
    third = load([folder], second)

    assert second.parts[str(folder)].replaced == ()
    assert old <= set(third.parts[str(folder)].replaced)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An installed package `a_kg` with the entry points `kg` and, if there is one, `more`."""
    write(tmp_path, "a_kg/__init__.py", "")
    write(tmp_path, "a_kg/model.py", "WORD = 'old'\n")
    source = good("kg.word", "WORD").replace('"WORD"', "WORD")
    write(tmp_path, "a_kg/procedures.py", "from a_kg.model import WORD" + source)
    points = [sources.EntryPoint("kg", "a_kg.procedures", sources.ENTRY_POINT_GROUP)]
    monkeypatch.setattr(sources, "entry_points", lambda **_: points)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path / "a_kg"
    for name in [name for name in sys.modules if name.split(".")[0] == "a_kg"]:
        del sys.modules[name]


def test_an_installed_package_is_imported_again_as_a_whole(package):
    """A change anywhere in the package counts, not only in the module that is named."""
    before = load([])

    (package / "model.py").write_text("WORD = 'changed'\n")
    after = load([], before)

    assert (answer(before, "kg.word"), answer(after, "kg.word")) == ("old", "changed")
    assert [change.state for change in changes_between(before, after)] == ["changed"]


def test_a_package_without_a_change_keeps_its_modules(package):
    """An unchanged package is not imported again, so that its shared objects stay."""
    before = load([])
    module = sys.modules["a_kg.model"]

    after = load([], before)

    assert after.registry.get("kg.word") is before.registry.get("kg.word")
    assert sys.modules["a_kg.model"] is module


def test_a_package_that_fails_now_is_left_as_it_was(package):
    """Its procedures stay in service, and what they may import still is there."""
    before = load([])
    module = sys.modules["a_kg.procedures"]

    (package / "procedures.py").write_text("broken(\n")
    after = load([], before)

    assert answer(after, "kg.word") == "old"
    assert [failure.module for failure in after.failures] == ["kg"]
    assert sys.modules["a_kg.procedures"] is module
