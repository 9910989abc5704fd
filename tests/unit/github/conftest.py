"""Fixtures of the unit tests of the `github` procedures."""

import os

import pytest


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the settings of whoever runs the tests."""
    for name in os.environ:
        if name.startswith("SIDECYPHER_GITHUB_") or name == "GITHUB_TOKEN":
            monkeypatch.delenv(name)
