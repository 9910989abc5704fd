"""The `github` namespace: live GitHub data inside Cypher.

Only data that never changes is stored in the graph. Everything else is fetched, cached and
revalidated. The sidecar has one token, so every Cypher user sees what the token sees.
"""
