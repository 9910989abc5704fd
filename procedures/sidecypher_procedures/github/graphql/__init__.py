"""GitHub's GraphQL API, for fetching many things by one call."""

from sidecypher_procedures.github.graphql.documents import LARGEST_NUMBER, document
from sidecypher_procedures.github.graphql.fetching import Found, fetch_all

__all__ = ["LARGEST_NUMBER", "Found", "document", "fetch_all"]
