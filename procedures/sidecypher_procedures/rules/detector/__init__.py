"""Find out whether two rules contradict each other: deterministic, versioned, without a model."""
