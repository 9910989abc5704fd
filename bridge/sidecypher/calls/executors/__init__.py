"""Run functions: on the connection's thread, on the event loop, or in a pool of processes."""
