"""The receiver of GitHub's webhooks, as the sidecar finds it."""

from sidecypher.loading.loader import load


def test_the_shipped_webhook_is_found():
    """It comes with the package, by the same entry point as the procedures."""
    assert list(load([]).webhooks) == ["/webhooks/github"]
