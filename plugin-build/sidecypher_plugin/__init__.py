"""Generate, compile and pack the Neo4j plugin from a catalogue."""

from sidecypher_plugin.builder import (
    CORE_JAR,
    BuildInputs,
    BuiltPlugin,
    build,
    is_current,
    read_catalogue,
    read_inputs,
)
from sidecypher_plugin.compiler import Compiler, eclipse, javac
from sidecypher_plugin.errors import (
    CompilerMissing,
    CoreJarMissing,
    PluginBuildError,
    UnfitProcedure,
)
from sidecypher_plugin.generator import render

__all__ = [
    "CORE_JAR",
    "BuildInputs",
    "BuiltPlugin",
    "Compiler",
    "CompilerMissing",
    "CoreJarMissing",
    "PluginBuildError",
    "UnfitProcedure",
    "build",
    "eclipse",
    "is_current",
    "javac",
    "read_catalogue",
    "read_inputs",
    "render",
]
