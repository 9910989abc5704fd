"""The SDK for authors of procedures: decorators, signatures, rows, the context and its results.

Enters: what authors import, and the code that implements it. It does not run calls.
"""
