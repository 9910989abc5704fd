package io.sidecypher.core;

import org.neo4j.kernel.api.exceptions.Status;

/**
 * The error that ends a call, with the message for the Cypher user.
 *
 * <p>It has no cause: Neo4j would show the message of the innermost cause to the client.
 */
public final class SidecypherException extends RuntimeException implements Status.HasStatus {
    private static final long serialVersionUID = 1L;

    private final transient Status status;
    private final String text;
    private final boolean notStarted;

    SidecypherException(Status status, String message) {
        this(status, message, false);
    }

    private SidecypherException(Status status, String message, boolean notStarted) {
        // Neo4j uses the message of a procedure's exception as a format string.
        super(message.replace("%", "%%"));
        this.status = status;
        text = message;
        this.notStarted = notStarted;
    }

    /** Returns the error of a call that no sidecar has begun. */
    static SidecypherException notStarted(Status status, String message) {
        return new SidecypherException(status, message, true);
    }

    /** Returns whether no sidecar has begun the call. */
    boolean wasNotStarted() {
        return notStarted;
    }

    /** Returns the code at the beginning of the message. */
    String code() {
        return text.substring(1, text.indexOf(']'));
    }

    /** Returns the message for the user. */
    String text() {
        return text;
    }

    @Override
    public Status status() {
        return status;
    }
}
