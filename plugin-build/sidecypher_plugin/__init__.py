"""Generate, compile and pack the Neo4j plugin from a catalogue.

`builder.build` does all of it. `generator.render` writes the Java, `compiler` runs a compiler.
"""
