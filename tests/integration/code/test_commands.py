"""`sidecypher code` on a real installation."""

import json
import shutil

from docs.pages import ROOT


def test_a_folder_is_indexed_and_its_callers_are_listed(server, session, tmp_path):
    """`code index` reads a folder outside of the roots; `code callers` lists who calls."""
    shutil.copytree(ROOT / "docs/shop", tmp_path / "outside")

    indexed = server.command("code", "index", tmp_path / "outside", "--repo", "command", "--json")
    found = server.command("code", "callers", "command", "price_of", "--json")

    assert (indexed.returncode, indexed.stderr) == (0, "")
    assert json.loads(indexed.stdout)["files"] == 3
    assert [row["qualifiedName"] for row in json.loads(found.stdout)] == ["cart.Cart.total"]


def test_an_unknown_repository_is_named(server, session):
    """A repository that is not indexed is an error with its code, without a traceback."""
    done = server.command("code", "callers", "none", "f")

    assert (done.returncode, done.stdout) == (1, "")
    assert "There is no repository `none`" in done.stderr


def test_a_missing_folder_is_an_error(server, session, tmp_path):
    """A folder that is not there is refused before anything is read."""
    done = server.command("code", "index", tmp_path / "none")

    assert (done.returncode, done.stdout) == (1, "")
    assert "The path is not a folder" in done.stderr
