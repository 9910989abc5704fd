"""The `github` namespace: live GitHub data inside Cypher.

Only what never changes belongs in the graph; everything else is fetched, cached and confirmed. Say
plainly to whom it concerns: with one token for the sidecar, every Cypher user sees what the token
sees.
"""

from sidecypher_procedures.github.lists import list_comments, list_issues, list_pull_requests
from sidecypher_procedures.github.merges import merge_issue, merge_pull_request, merge_repository
from sidecypher_procedures.github.procedures import (
    credentials,
    get_issue,
    get_pull_request,
    get_repository,
    invalidate,
    rate_limit,
)
from sidecypher_procedures.github.webhooks import receive, receive_webhook

__all__ = [
    "credentials",
    "get_issue",
    "get_pull_request",
    "get_repository",
    "invalidate",
    "list_comments",
    "list_issues",
    "list_pull_requests",
    "merge_issue",
    "merge_pull_request",
    "merge_repository",
    "rate_limit",
    "receive",
    "receive_webhook",
]
