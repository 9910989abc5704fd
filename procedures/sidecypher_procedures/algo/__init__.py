"""`algo.*`: algorithms on a part of the graph, on a thread, in a process or on a Ray cluster."""
