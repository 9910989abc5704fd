"""Operation of a sidecar: its own procedures, control over it, the console, recordings.

Enters: what an operator sees or changes in a running sidecar.
"""
