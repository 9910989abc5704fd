"""`sidecypher demo`: its command, its graph, and its mock of GitHub."""
