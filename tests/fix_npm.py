"""What others recorded and specified of GitHub: npm packages, fetched once into the cache."""

import base64
import hashlib
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from sidecypher.filelock import file_lock
from sidecypher.settings import load_settings

_MANIFEST = ("package.json", "package-lock.json")
_OPENAPI = "@octokit/openapi@23.0.2"
_OPENAPI_SHA512 = (
    "pV8M7L9GY23AybNvTmo2nyjmpmnt6+2sRE/tqr0ZLQcPS4lnw7u5eZGNmwRNkBC3D7gZXbFx5AHzLUVRBXGDhg=="
)
_DESCRIPTION = "api.github.com.json"


@pytest.fixture(scope="session")
def npm_packages():
    """The folder `node_modules` of tests/npm."""
    source = Path(__file__).parent / "npm"
    digest = hashlib.sha256(b"".join((source / name).read_bytes() for name in _MANIFEST))

    def install(folder):
        for name in _MANIFEST:
            shutil.copy(source / name, folder)
        _npm(folder, "ci", "--ignore-scripts", "--no-audit", "--no-fund")

    return _cached(f"test-npm-{digest.hexdigest()[:16]}", install) / "node_modules"


@pytest.fixture(scope="session")
def openapi_file():
    """GitHub's OpenAPI description, the one file of `@octokit/openapi` that tests want.

    The package is 28 MB to download and 385 MB when installed, hence no dependency of tests/npm.
    """

    def extract(folder):
        _npm(folder, "pack", _OPENAPI)
        [package] = folder.glob("*.tgz")
        digest = base64.b64encode(hashlib.sha512(package.read_bytes()).digest()).decode()
        assert digest == _OPENAPI_SHA512, f"{_OPENAPI} is not what it was"
        with tarfile.open(package) as packed:
            description = packed.extractfile(f"package/generated/{_DESCRIPTION}").read()
        (folder / _DESCRIPTION).write_bytes(description)
        package.unlink()

    return _cached(f"test-openapi-{_OPENAPI_SHA512[:8]}", extract) / _DESCRIPTION


def _npm(folder, *arguments):
    command = ["npm", *arguments, "--loglevel=error"]
    subprocess.run(command, cwd=folder, check=True, timeout=300)


def _cached(name, fill):
    """Return a folder of the cache, which is filled once, whoever else wants it too."""
    folder = load_settings({}).cache_dir / name
    folder.mkdir(parents=True, exist_ok=True)
    done = folder / "complete"
    with file_lock(folder / "lock", wait=True):
        if not done.exists():
            fill(folder)
            done.touch()
    return folder
