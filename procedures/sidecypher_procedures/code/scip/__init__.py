"""Calls and references that SCIP indexes know, made by others or by scip-typescript."""
