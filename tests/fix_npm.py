"""What others recorded and specified of GitHub: npm packages, fetched once into the cache."""

import base64
import hashlib
import tarfile

import pytest
import shared_cache

_OPENAPI = "@octokit/openapi@23.0.2"
_OPENAPI_SHA512 = (
    "pV8M7L9GY23AybNvTmo2nyjmpmnt6+2sRE/tqr0ZLQcPS4lnw7u5eZGNmwRNkBC3D7gZXbFx5AHzLUVRBXGDhg=="
)
_DESCRIPTION = "api.github.com.json"


@pytest.fixture(scope="session")
def npm_packages():
    """The folder `node_modules` of tests/npm/specifications."""
    return shared_cache.npm_packages("specifications")


@pytest.fixture(scope="session")
def payloads():
    """The folder `node_modules` of tests/npm/recordings."""
    return shared_cache.npm_packages("recordings")


@pytest.fixture(scope="session")
def openapi_file():
    """GitHub's OpenAPI description, the one file of `@octokit/openapi` that tests want.

    The package is 28 MB to download and 385 MB when installed, hence no dependency of
    tests/npm/specifications.
    """

    def extract(folder):
        shared_cache.npm(folder, "pack", _OPENAPI)
        [package] = folder.glob("*.tgz")
        digest = base64.b64encode(hashlib.sha512(package.read_bytes()).digest()).decode()
        assert digest == _OPENAPI_SHA512, f"{_OPENAPI} is not what it was"
        with tarfile.open(package) as packed:
            description = packed.extractfile(f"package/generated/{_DESCRIPTION}").read()
        (folder / _DESCRIPTION).write_bytes(description)
        package.unlink()

    return shared_cache.cached(f"test-openapi-{_OPENAPI_SHA512[:8]}", extract) / _DESCRIPTION
