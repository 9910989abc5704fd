"""What an author of procedures uses: decorators, signatures, rows, the context and its results."""
