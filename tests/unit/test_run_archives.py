"""Archives of runs, where a server would be of no help."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from sidecypher import Context, procedure
from sidecypher.errors import CallError
from sidecypher.testing import ProcedureEnvironment
from sidecypher_procedures.runs import archives as archiving
from sidecypher_procedures.runs.archive_format import (
    FORMAT,
    Head,
    Relationship,
    RunArchives,
    with_tail,
)
from sidecypher_procedures.runs.archive_graph import write_lines
from sidecypher_procedures.runs.errors import (
    ArchiveDamaged,
    ArchiveUnavailable,
    SequenceConflict,
    UnknownReference,
)

HEAD = Head(format=FORMAT, run_id="r1", created_at=None)


@pytest.fixture
def archives(tmp_path):
    """The archives of a run; neither one nor the folder for them is there."""
    return RunArchives.of(tmp_path / "all" / "archives", "neo4j", "r1")


def test_every_folder_that_is_made_has_a_durable_name(archives, tmp_path, monkeypatch):
    """What names a new folder is the one above it."""
    synced, fsync = [], os.fsync

    def noted(handle):
        synced.append(os.fstat(handle).st_ino)
        fsync(handle)

    monkeypatch.setattr(os, "fsync", noted)
    archives.write(with_tail([HEAD]))

    above = [tmp_path, tmp_path / "all", archives.folder, archives.folder / "neo4j"]
    assert {each.stat().st_ino for each in above} <= set(synced)


def test_a_file_is_durable_before_it_has_its_name(archives, monkeypatch):
    """After a loss of power an archive is whole or not there."""
    synced, fsync, replace = [], os.fsync, Path.replace

    def noted(handle):
        synced.append(os.fstat(handle).st_ino)
        fsync(handle)

    def checked(part, target):
        assert part.stat().st_ino in synced
        return replace(part, target)

    monkeypatch.setattr(os, "fsync", noted)
    monkeypatch.setattr(Path, "replace", checked)

    archives.write(with_tail([HEAD]))


def test_a_file_is_private(archives):
    """What a run said is for the account of the sidecar alone."""
    file = archives.write(with_tail([HEAD]))

    assert (file.folder / file.name).stat().st_mode & 0o777 == 0o600


def test_what_is_attached_after_the_file_is_written_is_not_deleted(tmp_path, monkeypatch):
    """The deletion counts other relationships than the file has: the call fails."""
    found = {"lock_ended": None, "_archived_digest": None, "fault_of": None, "remove": (0, 1)}
    found["lines_of"] = with_tail([HEAD])
    for name, answer in found.items():
        monkeypatch.setattr(archiving, name, lambda *_, answer=answer: answer)

    with pytest.raises(SequenceConflict, match="attached to the run `r1` meanwhile"):
        archiving.archive_run(SimpleNamespace(database="neo4j"), tmp_path, "r1")


@pytest.mark.parametrize("text", [b"", b"{", b'{"node":[[],{}]}\n'])
def test_a_file_that_begins_as_no_archive_is_told_as_damaged(archives, text):
    """Writing the same run again makes it whole."""
    file = archives.write(with_tail([HEAD]))
    (file.folder / file.name).write_bytes(text)

    with pytest.raises(ArchiveDamaged):
        file.check()
    assert archives.write(with_tail([HEAD])) == file
    assert file.check().digest == file.digest


def test_what_is_called_in_no_database_has_no_archives(tmp_path):
    """A call by HTTP names none; the path would begin at the root of all files."""
    with pytest.raises(ArchiveUnavailable, match="belong to a database"):
        RunArchives.of(tmp_path, "", "r1")


@procedure("demo.relate", mode="WRITE")
def relate(ctx: Context) -> None:
    link = Relationship(type="REFERENCES", start=["Event", "e"], end=["Issue", "7"], properties={})
    write_lines(ctx, [link])


def test_what_is_written_between_two_statements_is_no_riddle():
    """The first statement does not find it, the second one does: who calls is to try again."""

    def graph(statement, _params):
        return [{"written": 0}] if "UNWIND" in statement else [{"n": 1}]

    with (
        ProcedureEnvironment(relate, run=graph) as environment,
        pytest.raises(CallError) as told,
    ):
        environment.call("demo.relate")
    assert told.value.code == UnknownReference.code
    assert "try again" in told.value.hint
