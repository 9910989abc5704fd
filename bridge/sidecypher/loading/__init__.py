"""Find, import and guard the modules that procedures are written in.

Enters: what happens between a folder and a registry, before any call.
"""
