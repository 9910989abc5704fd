"""Scripts as a folder holds them."""

import pytest


@pytest.fixture
def folder(tmp_path):
    """Write files below a folder of scripts; without `/` in the name, into `migrations`."""

    def write(**files):
        (tmp_path / "migrations").mkdir(exist_ok=True)
        (tmp_path / "triggers").mkdir(exist_ok=True)
        for name, content in files.items():
            place = "triggers" if name.startswith("trigger_") else "migrations"
            data = content if isinstance(content, bytes) else content.encode()
            (tmp_path / place / f"{name}.cypher").write_bytes(data)
        return tmp_path

    return write
