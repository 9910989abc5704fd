"""Doors for agents: procedures as tools of the Model Context Protocol (MCP)."""
