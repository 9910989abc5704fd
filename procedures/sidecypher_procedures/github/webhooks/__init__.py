"""Webhooks: GitHub tells what has changed, instead of being asked."""

from sidecypher_procedures.github.webhooks.procedure import receive_webhook
from sidecypher_procedures.github.webhooks.receiver import receive

__all__ = ["receive", "receive_webhook"]
