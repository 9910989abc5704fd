"""Answers of GitHub, shared by sidecars in Redis."""
