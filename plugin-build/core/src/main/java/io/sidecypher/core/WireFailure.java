package io.sidecypher.core;

/** A failure of one connection; its message never contains sent or received data. */
final class WireFailure extends RuntimeException {
    private static final long serialVersionUID = 1L;

    enum Kind {
        /** There is no connection. */
        UNAVAILABLE,
        /** The sidecar has reached its limit of connections. */
        BUSY,
        /** The request was not sent completely, so the sidecar cannot have begun it. */
        NOT_SENT,
        /** The connection ended after the request was sent. */
        LOST,
        /** The peer sent a message that is not part of the protocol. */
        PROTOCOL,
        /** The peer sent a line longer than the limit. */
        TOO_LARGE
    }

    private final Kind kind;

    WireFailure(Kind kind, String message) {
        super(message, null, false, false);
        this.kind = kind;
    }

    /** Returns the failure to connect, for a reason that errors name. */
    static WireFailure unavailable(String reason) {
        return new WireFailure(Kind.UNAVAILABLE, reason);
    }

    /** Returns whether the sidecar cannot have begun the request. */
    boolean wasNotSent() {
        return kind == Kind.UNAVAILABLE || kind == Kind.BUSY || kind == Kind.NOT_SENT;
    }

    Kind kind() {
        return kind;
    }
}
