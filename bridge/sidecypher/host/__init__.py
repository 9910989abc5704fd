"""The machine a sidecar runs on: its settings, files, locks, signals and threads.

Enters: what deals with the operating system and knows no procedure and no call.
"""
