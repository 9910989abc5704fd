"""The procedures `session.*`: workflows that the graph defines, with a human in the loop."""
