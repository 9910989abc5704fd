"""Archives of runs, where a server would be of no help."""

import pytest

from sidecypher_procedures.runs.archives.files import ArchiveFile
from sidecypher_procedures.runs.archives.lines import FORMAT, Head, sealed
from sidecypher_procedures.runs.errors import ArchiveDamaged

HEAD = Head(format=FORMAT, run_id="r1", created_at=None)


@pytest.fixture
def file(tmp_path):
    """The file of a run; neither it nor the folder for archives is there."""
    return ArchiveFile.of(tmp_path / "all" / "archives", "neo4j", "r1")


@pytest.mark.parametrize("text", [b"", b"{", b'{"node":[[],{}]}\n'])
def test_a_file_that_begins_as_no_archive_is_told_as_damaged(file, text):
    """It is not taken for that of another run, and it is left as it is."""
    file.write(sealed([HEAD]))
    path = file.folder / file.name
    path.write_bytes(text)

    with pytest.raises(ArchiveDamaged):
        file.write(sealed([HEAD]))
    assert path.read_bytes() == text
