"""Webhook deliveries from GitHub: checked and stored on arrival, then written to the graph."""
