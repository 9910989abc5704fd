"""The embedded Neo4j and the processes of an installation."""
