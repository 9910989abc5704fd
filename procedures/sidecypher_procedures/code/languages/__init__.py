"""The languages that can be read: their grammars, their queries, and how these are run."""
