"""What plugin and sidecar agree on: the messages between them, the catalogue, and their bounds.

Enters: what the Java core has too. A change here is a change there.
"""
