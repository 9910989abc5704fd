"""The sidecar over HTTP: health, calls, webhooks and OpenAPI, on loopback."""
