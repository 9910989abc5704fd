"""Fixtures that all folders share, one file per concern."""

pytest_plugins = ["fix_jars", "fix_server", "fix_waiting"]
