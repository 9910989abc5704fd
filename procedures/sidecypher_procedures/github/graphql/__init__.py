"""GitHub's GraphQL API: many things by one call, and what the REST API does not have."""

from sidecypher_procedures.github.graphql.documents import LARGEST_NUMBER, document
from sidecypher_procedures.github.graphql.fetching import Found, fetch_all
from sidecypher_procedures.github.graphql.references import CLOSING_REFERENCES, closing_references

__all__ = [
    "CLOSING_REFERENCES",
    "LARGEST_NUMBER",
    "Found",
    "closing_references",
    "document",
    "fetch_all",
]
