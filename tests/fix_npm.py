"""What others recorded and specified of GitHub: npm packages, fetched once into the cache."""

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from sidecypher.filelock import file_lock
from sidecypher.settings import load_settings

_MANIFEST = ("package.json", "package-lock.json")


@pytest.fixture(scope="session")
def npm_packages():
    """The folder `node_modules` of tests/npm."""
    source = Path(__file__).parent / "npm"
    digest = hashlib.sha256(b"".join((source / name).read_bytes() for name in _MANIFEST))
    folder = load_settings({}).cache_dir / f"test-npm-{digest.hexdigest()[:16]}"
    folder.mkdir(parents=True, exist_ok=True)
    done = folder / "complete"
    with file_lock(folder / "lock", wait=True):
        if not done.exists():
            for name in _MANIFEST:
                shutil.copy(source / name, folder)
            command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
            subprocess.run([*command, "--loglevel=error"], cwd=folder, check=True, timeout=300)
            done.touch()
    return folder / "node_modules"
