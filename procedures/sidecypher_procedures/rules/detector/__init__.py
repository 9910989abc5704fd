"""Detector of contradicting rules: deterministic, versioned, without a model."""
