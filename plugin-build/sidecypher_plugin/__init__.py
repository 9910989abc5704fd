"""Generate, compile and pack the Neo4j plugin from a catalogue."""

from sidecypher_plugin.builder import (
    CORE_JAR,
    BuildInputs,
    BuiltPlugin,
    build,
    is_current,
    read_inputs,
)
from sidecypher_plugin.errors import CoreJarMissing, JdkMissing, PluginBuildError, UnfitProcedure
from sidecypher_plugin.generator import render

__all__ = [
    "CORE_JAR",
    "BuildInputs",
    "BuiltPlugin",
    "CoreJarMissing",
    "JdkMissing",
    "PluginBuildError",
    "UnfitProcedure",
    "build",
    "is_current",
    "read_inputs",
    "render",
]
