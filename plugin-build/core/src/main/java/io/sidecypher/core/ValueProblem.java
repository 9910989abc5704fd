package io.sidecypher.core;

/** A value that cannot be sent; the message names the problem, never the value. */
final class ValueProblem extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final String code;

    ValueProblem(String message) {
        this("SC-215", message);
    }

    private ValueProblem(String code, String message) {
        super(message, null, false, false);
        this.code = code;
    }

    /** Returns the problem of an entity that is not in the caller's transaction. */
    static ValueProblem missingEntity(String message) {
        return new ValueProblem("SC-218", message);
    }

    /** Returns the error code of a call that ends with this problem. */
    String code() {
        return code;
    }
}
