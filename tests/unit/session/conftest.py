"""Fixtures of the unit tests of the `session` procedures."""

import os

import pytest


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch):
    """Hide the settings of whoever runs the tests."""
    for name in os.environ:
        if name.startswith("SIDECYPHER_SESSION_"):
            monkeypatch.delenv(name)
