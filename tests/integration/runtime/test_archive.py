import pytest

from sidecypher.runtime import Installation, running, throwaway_server, write_archive

pytestmark = [pytest.mark.enable_socket, pytest.mark.timeout(300)]


def test_later_starts_read_the_archive(installation, java, tmp_path):
    """The archive is written once, and a server with plugins starts from it without complaint."""
    (tmp_path / "jars").symlink_to(installation.jar_folder)
    own = Installation(installation.lock, tmp_path)

    write_archive(own, java)

    (archive,) = (tmp_path / "archives").iterdir()
    written = archive.stat()
    write_archive(own, java)
    assert archive.stat() == written
    with throwaway_server(own, java) as server:
        spec = server.process(restart=False)
        assert f"-XX:SharedArchiveFile={archive}" in spec.argv
        with running(spec):
            assert "warning" not in server.log_file.read_text()
