"""The command `sidecypher`: a module for each command, and what they share.

Enters: what reads a command line or prints. No other room imports it.
Exit codes: 0 done, 1 it failed, 2 it was called in a way it does not understand, 130 Ctrl-C.
"""
