"""Ways into the sidecar; each hands its messages to `sidecypher.dispatch`."""
