"""Contract of plugin and sidecar: the messages between them, the catalogue, and deadlines.

Enters: code with a counterpart in the Java core. A change here needs a change there.
"""
