"""The embedded Neo4j and the processes of an installation.

Enters: what downloads, starts, watches or stops them. It runs outside of the sidecar.
"""
