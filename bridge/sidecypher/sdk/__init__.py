"""What an author of procedures uses: decorators, signatures, rows, the context and its results.

Enters: what authors import, and what stands behind it. It does not run calls.
"""
