"""The `github` namespace: live GitHub data inside Cypher.

Only what never changes belongs in the graph; everything else is fetched, cached and confirmed.
With one token for the sidecar, every Cypher user sees what the token sees.
"""
