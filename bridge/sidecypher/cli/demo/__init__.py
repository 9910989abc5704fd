"""`sidecypher demo`: its command, its graph, and the GitHub that it replays."""
