"""What a delivery makes stale in the cache."""

import contextlib

from sidecypher_procedures.github.client import GithubClient
from sidecypher_procedures.github.errors import InvalidName
from sidecypher_procedures.github.webhooks.payload import Payload, addresses


def forget(client: GithubClient, event: str, payload: Payload) -> None:
    """Drop what the cache has of all that a delivery is about, by its old names and its new ones.

    Doing it twice, or in another order than GitHub sent, does no harm: it is asked for again.
    """
    for owner, repo, number, extent in addresses(event, payload):
        # What cannot be a name is no key of the cache either.
        with contextlib.suppress(InvalidName):
            client.invalidate(owner, repo, number, extent=extent)
