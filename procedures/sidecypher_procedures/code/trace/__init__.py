"""Runtime truth: which relationships of a code graph are calls that happen when a program runs."""
