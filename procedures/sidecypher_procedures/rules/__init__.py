"""The `rules` namespace: preferences with provenance, and who wins when two contradict."""
