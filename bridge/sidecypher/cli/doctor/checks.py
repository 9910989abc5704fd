"""All checks, in the order of the report."""

from typing import Final

from sidecypher.cli.doctor import (
    calls,
    credentials,
    github,
    java,
    ports,
    procedures,
    processes,
    schema,
    server,
    settings,
    space,
)
from sidecypher.cli.doctor.checking import Check

CHECKS: Final = (
    Check("Settings", "sidecypher", settings.look_at_settings),
    Check("Settings", "rules", calls.look_at_rules),
    Check("Settings", "runs", calls.look_at_runs),
    Check("Machine", "java", java.look_at_java),
    Check("Machine", "compiler", java.look_at_compiler),
    Check("Machine", "home", space.look_at_home),
    Check("Machine", "cache", space.look_at_cache),
    Check("Machine", "memory", space.look_at_memory),
    Check("Machine", "ports", ports.look_at_ports),
    Check("Secrets", "private files", credentials.look_at_private_files),
    Check("Secrets", "certificate", credentials.look_at_certificate),
    Check("Procedures", "modules", procedures.look_at_modules),
    Check("Procedures", "plugin", procedures.look_at_plugin),
    Check("Processes", "supervisor", processes.look_at_processes),
    Check("Processes", "sidecars", processes.look_at_sidecars),
    Check("Neo4j", "version", server.look_at_server),
    Check("Neo4j", "APOC", server.look_at_apoc),
    Check("Neo4j", "offered", server.look_at_offered),
    Check("Neo4j", "call", calls.look_at_call),
    Check("Neo4j", "clock", server.look_at_clock),
    Check("Schema", "migrations", schema.look_at_migrations),
    Check("Schema", "triggers", schema.look_at_triggers),
    Check("GitHub", "token", github.look_at_token),
    Check("GitHub", "limits", github.look_at_limits),
    Check("GitHub", "clock", github.look_at_clock),
)
