"""Keep what one test configures for its log lines away from the next."""

import pytest
import structlog


@pytest.fixture(autouse=True)
def _own_logging():
    """A command that a test runs in this process may log errors only: that ends with the test."""
    before = structlog.get_config()
    yield
    structlog.configure(**before)
