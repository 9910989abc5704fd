"""What tests and benchmarks keep in the cache: npm packages, and what else is made once."""

import hashlib
import math
import shutil
import subprocess
from pathlib import Path

from sidecypher.host.locks import file_lock
from sidecypher.host.settings import load_settings

_MANIFEST = ("package.json", "package-lock.json")


def npm_packages(name):
    """Return the folder `node_modules` of tests/npm/NAME."""
    source = Path(__file__).parent / "npm" / name
    digest = hashlib.sha256(b"".join((source / file).read_bytes() for file in _MANIFEST))

    def install(folder):
        for file in _MANIFEST:
            shutil.copy(source / file, folder)
        npm(folder, "ci", "--ignore-scripts", "--no-audit", "--no-fund")

    return cached(f"test-npm-{digest.hexdigest()[:16]}", install) / "node_modules"


def npm(folder, *arguments):
    """Run npm in a folder."""
    command = ["npm", *arguments, "--loglevel=error"]
    subprocess.run(command, cwd=folder, check=True, timeout=300)


def cached(name, fill):
    """Return a folder of the cache, which is filled once, whoever else wants it too."""
    folder = load_settings({}).cache_dir / name
    folder.mkdir(parents=True, exist_ok=True)
    done = folder / "complete"
    with file_lock(folder / "lock", seconds=math.inf):
        if not done.exists():
            fill(folder)
            done.touch()
    return folder
