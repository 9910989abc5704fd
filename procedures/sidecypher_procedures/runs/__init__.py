"""The `runs` namespace: workflow runs as an event graph that cannot fork, lose or reorder events.

`procedures` defines the procedures, `event_log` numbers events, `model` defines types and states.
"""
