"""Signing keys of runs, and the digests that they compute."""

import os
from pathlib import Path

import pytest

from sidecypher_procedures.runs import settings
from sidecypher_procedures.runs.errors import RunsSettingsError
from sidecypher_procedures.runs.model import Signer
from sidecypher_procedures.runs.settings import Configuration, read_key

KEY = "0123456789abcdef" * 4
EVENT = ("c", 1, ["p", "q"], 5, "a")


@pytest.fixture
def file(tmp_path):
    found = tmp_path / "key"
    found.write_text(f"  {KEY}\n")
    found.chmod(0o600)
    return found


def test_a_key_is_read_without_space(file):
    """The line break at the end of a file is not a part of the key."""
    assert read_key(file) == KEY.encode()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o610])
def test_a_file_that_others_can_use_is_refused(file, mode):
    """Neither the group nor others may read, write or run it."""
    file.chmod(mode)

    with pytest.raises(RunsSettingsError, match=f"has the mode {mode:04o}"):
        read_key(file)


@pytest.mark.parametrize("text", ["", "x" * 31, "x" * 1025, " " * 40])
def test_a_key_has_32_to_1024_bytes(file, text):
    """The error tells the length, and not the key."""
    file.write_text(text)

    with pytest.raises(RunsSettingsError, match="has a key of") as told:
        read_key(file)
    assert "xx" not in str(told.value)


def test_a_file_of_another_account_is_refused(file, monkeypatch):
    """Its owner could replace the key."""
    monkeypatch.setattr(settings.os, "geteuid", lambda: os.getuid() + 1)

    with pytest.raises(RunsSettingsError, match="belongs to another account"):
        read_key(file)


@pytest.mark.parametrize("name", ["missing", "."])
def test_what_is_not_a_file_is_refused(tmp_path, name):
    """The error names the setting, and not the path."""
    with pytest.raises(RunsSettingsError, match="SIGNING_KEY_FILE` cannot be read") as told:
        read_key(tmp_path / name)
    assert str(tmp_path) not in str(told.value)


def test_the_setting_names_the_file(file, monkeypatch):
    """Without it there is no key."""
    monkeypatch.delenv("SIDECYPHER_RUNS_SIGNING_KEY_FILE", raising=False)
    assert Configuration().signer == Signer()
    monkeypatch.setenv("SIDECYPHER_RUNS_SIGNING_KEY_FILE", str(file))
    assert Configuration().signer == Signer(KEY.encode())


def test_a_key_is_not_shown():
    """Neither by the text of an object nor by its name."""
    assert KEY not in repr(Signer(KEY.encode()))
    assert Signer(KEY.encode()).key_name not in KEY


@pytest.mark.parametrize("signer", [Signer(), Signer(b"one")], ids=["no key", "a key"])
def test_all_of_an_event_is_in_its_digest(signer):
    """Another content, place, parent, time, agent or key makes another digest."""
    others = [
        ("d", *EVENT[1:]),
        ("c", 2, *EVENT[2:]),
        ("c", 1, ["p"], 5, "a"),
        ("c", 1, ["p", "q"], 6, "a"),
        ("c", 1, ["p", "q"], 5, None),
    ]
    digests = {signer.chained(*each) for each in (EVENT, *others)}

    assert len(digests | {Signer(b"two").chained(*EVENT)}) == 7
    assert signer.chained("c", 1, ["q", "p"], 5, "a") == signer.chained(*EVENT)


def test_the_folder_of_a_key_does_not_matter(file):
    """A link to the file is followed: secrets of containers are mounted so."""
    link = Path(f"{file}-link")
    link.symlink_to(file)

    assert read_key(link) == KEY.encode()
