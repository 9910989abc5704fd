"""The machine a sidecar runs on: its settings, files, locks, signals and threads."""
