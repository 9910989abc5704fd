"""The sidecar about itself: its own procedures, control over it, the console, recordings."""
