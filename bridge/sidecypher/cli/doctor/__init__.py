"""The command `doctor`: checks, what they look at, and the report."""
