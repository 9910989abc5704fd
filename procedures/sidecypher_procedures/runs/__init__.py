"""The `runs` namespace: workflow runs as an event graph that cannot fork, lose or reorder events.

`procedures` is what Cypher sees; `event_log` gives each event its number; `model` has the words.
"""
