"""The cost of a call: `python -m benchmarks` in the repository's root; see docs/benchmarks.md."""
