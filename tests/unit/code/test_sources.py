"""Which files of a folder are read."""

import os
import subprocess
from pathlib import Path

import pytest

from sidecypher_procedures.code import sources
from sidecypher_procedures.code.errors import TooManyFiles
from sidecypher_procedures.code.model import LANGUAGES
from sidecypher_procedures.code.sources import read_sources


def write(folder, **files):
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_py", ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_ignored_files_are_left_out(tmp_path):
    """Without git, `.gitignore` of each folder counts for what is below it."""
    write(tmp_path, a_py="", build__b_py="", inner__c_py="", inner__d_py="")
    (tmp_path / ".gitignore").write_text("build/\n")
    (tmp_path / "inner" / ".gitignore").write_text("d.py\n")

    assert list(read_sources(tmp_path, LANGUAGES).files) == ["a.py", "inner/c.py"]


def test_git_says_what_is_read(tmp_path):
    """In a repository, tracked files and new ones are read, even if a folder looks ignored."""
    write(tmp_path, a_py="", b_py="", c_py="")
    (tmp_path / ".gitignore").write_text("b.py\nc.py\n")
    for arguments in (["init", "--quiet"], ["add", "--force", "b.py"]):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True)

    assert list(read_sources(tmp_path, LANGUAGES).files) == ["a.py", "b.py"]


def test_a_deleted_file_is_no_part_of_the_repository(tmp_path):
    """What git still tracks but nobody can read any more is left out, and is no failure."""
    write(tmp_path, a_py="", b_py="")
    for arguments in (["init", "--quiet"], ["add", "."]):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True)
    (tmp_path / "b.py").unlink()

    found = read_sources(tmp_path, LANGUAGES)

    assert (list(found.files), found.skipped) == (["a.py"], {})


def test_only_the_languages_asked_for_are_read(tmp_path):
    """Files of other languages are not even counted."""
    write(tmp_path, a_py="")
    (tmp_path / "b.go").write_text("package b")
    (tmp_path / "c.txt").write_text("")

    found = read_sources(tmp_path, ("go",))

    assert (list(found.files), found.skipped) == (["b.go"], {})


def test_what_is_no_file_is_named(tmp_path):
    """Links, pipes and large files are left out, each with its reason."""
    write(tmp_path, a_py="")
    (tmp_path / "link.py").symlink_to("a.py")
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "large.py").write_bytes(b"#" * (sources.LARGEST_FILE + 1))

    assert read_sources(tmp_path, LANGUAGES).skipped == {
        "large.py": "too large",
        "link.py": "symbolic link",
        "pipe.py": "not a file",
    }


def test_a_linked_folder_is_not_entered(tmp_path):
    """A symbolic link to a folder leads nowhere."""
    write(tmp_path, outside__a_py="")
    root = tmp_path / "root"
    root.mkdir()
    (root / "link").symlink_to(tmp_path / "outside")

    assert read_sources(root, LANGUAGES).files == {}


def test_too_many_files_are_an_error(tmp_path, monkeypatch):
    """A folder with more files than the limit is refused whole."""
    monkeypatch.setattr(sources, "MOST_FILES", 1)
    write(tmp_path, a_py="", b_py="")

    with pytest.raises(TooManyFiles, match="more than 1 source"):
        read_sources(tmp_path, LANGUAGES)


def test_no_program_of_the_repository_is_run(tmp_path):
    """Settings of a repository may name programs that git runs; reading it runs none of them."""
    write(tmp_path, a_py="")
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path / 'ran'}\n")
    program.chmod(0o755)
    for arguments in (["init", "--quiet"], ["config", "core.fsmonitor", str(program)]):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True)

    assert list(read_sources(tmp_path, LANGUAGES).files) == ["a.py"]
    assert not (tmp_path / "ran").exists()


def test_many_files_need_few_memory_mappings(tmp_path):
    """A hundred thousand files fit into one process, which may have 65 530 mappings."""
    for number in range(2000):
        (tmp_path / f"f{number}.py").write_text(f"x = {number}\n" * 30)

    def mappings():
        return len(Path("/proc/self/maps").read_text().splitlines())

    before = mappings()
    found = read_sources(tmp_path, LANGUAGES)

    assert len(found.files) == 2000
    assert mappings() - before < 200
