"""Find, import and guard the modules that procedures are written in."""
