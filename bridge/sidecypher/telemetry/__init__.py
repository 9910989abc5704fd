"""What the sidecar reports of its calls: log lines, metrics, traces, and the latest failures.

Enters: what observes calls and decides nothing about them.
"""
