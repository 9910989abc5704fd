"""What plugin and sidecar agree on: the messages between them, the catalogue, and their bounds."""
