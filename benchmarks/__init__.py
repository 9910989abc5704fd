"""What a call costs: `python -m benchmarks` from the repository's root; see docs/benchmarks.md."""
