"""The command `sidecypher`: a module for each command, and shared helpers.

Enters: code that reads a command line or prints. No other room imports it.
Exit codes: 0 success, 1 failure, 2 usage error, 130 Ctrl-C, 143 SIGTERM,
129 SIGHUP.
"""
