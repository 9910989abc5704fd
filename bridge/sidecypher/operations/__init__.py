"""The sidecar about itself: its own procedures, control over it, the console, recordings.

Enters: what an operator sees or changes in a running sidecar.
"""
