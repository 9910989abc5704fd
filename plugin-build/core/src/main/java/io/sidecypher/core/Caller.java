package io.sidecypher.core;

/**
 * The user and database of a call.
 *
 * @param traceparent the caller's W3C trace context; empty if there is none
 */
record Caller(String database, String user, String traceparent) {
    Caller tracedBy(String context) {
        return new Caller(database, user, context);
    }
}
