"""PostgreSQL: events that are added in transactions of applications, and drafts of users.

`outbox` adds events, `worker` writes them to Neo4j.
"""
