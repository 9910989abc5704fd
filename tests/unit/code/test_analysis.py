"""The process that analyses a folder, where something is wrong with its surroundings."""

import resource

import pytest

from sidecypher_procedures.code.analysis import digest_of
from sidecypher_procedures.code.delta import Stored
from sidecypher_procedures.code.errors import CodeError
from sidecypher_procedures.code.indexing import differences
from sidecypher_procedures.code.model import LANGUAGES, Request
from sidecypher_procedures.code.sources import Sources

pytestmark = pytest.mark.anyio


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A program of one file, of which no process can write a copy, as on a full disk."""
    # Python would leave half of its compiled modules, and fail with them later.
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    (tmp_path / "a.py").write_text("a = 1\n" * 1000)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    yield tmp_path
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_a_full_disk_is_an_error_that_says_so(folder):
    """The analysis copies files for the type checker: without room it ends with the reason."""
    request = Request(repo_id="shop", root=str(folder), languages=LANGUAGES)

    async def nothing():
        return Stored()

    with pytest.raises(
        CodeError, match="The system has stopped the analysis: File too large"
    ) as caught:
        await differences(request, nothing, lambda *_: None)

    assert caught.value.code == "SC-976"
    assert str(folder) not in str(caught.value)


def test_an_upgraded_library_makes_another_digest(tmp_path, monkeypatch):
    """A folder is analysed again after the upgrade of a parser, which may read it otherwise."""
    request = Request(repo_id="shop", root="shop", languages=LANGUAGES)
    before = digest_of(request, Sources())
    newer = tmp_path / "tree_sitter_go-99.dist-info"
    newer.mkdir()
    (newer / "METADATA").write_text("Metadata-Version: 2.1\nName: tree-sitter-go\nVersion: 99\n")
    assert digest_of(request, Sources()) == before
    monkeypatch.syspath_prepend(tmp_path)
    assert digest_of(request, Sources()) != before
