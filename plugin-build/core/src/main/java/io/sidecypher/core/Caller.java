package io.sidecypher.core;

/** On whose behalf and in which database a procedure runs. */
record Caller(String database, String user) {}
