"""Sessions for people: commands, workflow files, and pictures."""
