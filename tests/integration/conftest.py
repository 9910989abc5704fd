"""All that starts a Neo4j is in this folder."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def _archived_classes(class_archive):
    """Start it from the archive of classes."""
