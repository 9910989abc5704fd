"""`sidecypher code` on a real installation."""

import json
import shutil

import pytest
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


@pytest.mark.slow
def test_a_repository_is_searched_counted_and_drawn(server, session, tmp_path):
    """`code search`, `stats` and `map` say what the procedures do, as tables or JSON."""
    picture = tmp_path / "shop.svg"
    assert server.command("code", "index", ROOT / "docs/shop", "--repo", "drawn").returncode == 0

    found = server.command("code", "search", "drawn", "half_price", "--leg", "graph", "--json")
    counted = server.command("code", "stats", "drawn", "--json")
    listed = server.command("code", "map", "drawn", "--svg", picture, "--limit", "1")
    shown = server.command("code", "search", "drawn", "half_price", "--leg", "graph")

    [first, *_] = json.loads(found.stdout)
    assert (first["filePath"], first["name"]) == ("prices.py", "half_price")
    assert json.loads(counted.stdout) == session.run("CALL code.stats('drawn')").data()
    assert "cart.Cart" in listed.stdout
    assert '<title id="title">The largest communities of drawn</title>' in picture.read_text()
    assert "half_price" in shown.stdout


def test_a_leg_that_does_not_exist_is_named(server, session):
    """A wrong `--leg` is refused with those that there are."""
    done = server.command("code", "search", "shop", "price", "--leg", "dens")

    assert (done.returncode, done.stdout) == (1, "")
    assert "legs" in done.stderr
    assert "dense" in done.stderr
