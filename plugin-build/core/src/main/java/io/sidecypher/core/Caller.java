package io.sidecypher.core;

/**
 * On whose behalf and in which database a procedure runs.
 *
 * @param traceparent the caller's W3C trace context; empty when there is none
 */
record Caller(String database, String user, String traceparent) {
    Caller tracedBy(String context) {
        return new Caller(database, user, context);
    }
}
