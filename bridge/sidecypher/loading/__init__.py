"""Find, import and guard the modules of procedures.

Enters: code for the steps from a folder to a registry, before any call.
"""
