"""The `rules` namespace: preferences with provenance, and which of two contradicting ones applies.

Stated rules are stored and never rewritten; the active rules are computed from them. The `detector`
finds rules that contradict each other, and `ranking` decides which one applies.
"""
