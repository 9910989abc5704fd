package io.sidecypher.core;

/** What went wrong on one connection; the text never holds anything that was sent or received. */
final class WireFailure extends RuntimeException {
    private static final long serialVersionUID = 1L;

    enum Kind {
        /** No connection could be made. */
        UNAVAILABLE,
        /** The sidecar has as many connections as it takes. */
        BUSY,
        /** The request did not leave this process whole, so the sidecar cannot have begun it. */
        NOT_SENT,
        /** The connection ended after the request was sent. */
        LOST,
        /** The peer said something the protocol does not know. */
        PROTOCOL,
        /** The peer sent a line longer than the limit. */
        TOO_LARGE
    }

    private final Kind kind;

    WireFailure(Kind kind, String message) {
        super(message, null, false, false);
        this.kind = kind;
    }

    /** Whether the sidecar cannot have begun what the request asks for. */
    boolean wasNotSent() {
        return kind == Kind.UNAVAILABLE || kind == Kind.BUSY || kind == Kind.NOT_SENT;
    }

    Kind kind() {
        return kind;
    }
}
