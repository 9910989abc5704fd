"""The machine of a sidecar: settings, files, locks, signals and threads.

Enters: code that uses the operating system and knows neither procedures nor calls.
"""
