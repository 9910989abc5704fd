"""The console: a web page that lists procedures, running calls and recent failures."""
