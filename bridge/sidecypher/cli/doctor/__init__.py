"""The command `doctor`: checks, the installation that they inspect, and the report."""
