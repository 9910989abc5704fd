"""Which functions the calls of a Python program reach."""
