"""The `rules` namespace: preferences with provenance, and who wins when two contradict.

What is stated is stored and never rewritten; what holds is computed from it. `conflicts` decides
whether two rules contradict each other, with the `detector`; `ranking` decides which one applies.
"""
