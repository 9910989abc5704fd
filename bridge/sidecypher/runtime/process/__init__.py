"""Processes that live together: described, started in order, restarted, stopped, found again."""
