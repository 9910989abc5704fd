"""What the sidecar reports of its calls: log lines, metrics, traces, and the latest failures."""
