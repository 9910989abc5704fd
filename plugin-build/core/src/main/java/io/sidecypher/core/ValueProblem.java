package io.sidecypher.core;

/** A value that the wire does not carry; the text names the problem, never the value. */
final class ValueProblem extends RuntimeException {
    private static final long serialVersionUID = 1L;

    ValueProblem(String message) {
        super(message, null, false, false);
    }
}
