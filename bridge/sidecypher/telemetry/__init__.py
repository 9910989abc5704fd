"""The sidecar's reports about its calls: log lines, metrics, traces, and the latest failures.

Enters: what observes calls and decides nothing about them.
"""
