package io.sidecypher.core;

import org.neo4j.kernel.api.exceptions.Status;

/**
 * The one error a call ends with, in the words the Cypher user reads.
 *
 * <p>It has no cause: Neo4j shows the innermost cause's text to the client instead of ours.
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

    /** The error of a call that no sidecar has begun. */
    static SidecypherException notStarted(Status status, String message) {
        return new SidecypherException(status, message, true);
    }

    /** Whether no sidecar has begun the call. */
    boolean wasNotStarted() {
        return notStarted;
    }

    /** The code that the text of an error of ours begins with. */
    String code() {
        return text.substring(1, text.indexOf(']'));
    }

    /** The message as the user reads it. */
    String text() {
        return text;
    }

    @Override
    public Status status() {
        return status;
    }
}
