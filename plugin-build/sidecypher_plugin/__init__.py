"""Generate, compile and pack the Neo4j plugin from a catalogue.

`builder.build` runs all steps: `generator.render` writes the Java and `compiler` compiles it.
"""
