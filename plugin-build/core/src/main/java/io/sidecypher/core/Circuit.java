package io.sidecypher.core;

import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/**
 * Keeps calls away from a sidecar that could not be reached.
 *
 * <p>Open, it admits nobody; after a while it admits one caller, who tries for all others.
 */
final class Circuit {
    private static final long CLOSED = 0;

    private final long openNanos;
    private final long probeNanos;
    private final LongSupplier clock;
    private final AtomicLong openUntil = new AtomicLong(CLOSED);

    /**
     * @param openNanos how long nobody is admitted after a failure
     * @param probeNanos how long the one who tries may take at most
     */
    Circuit(long openNanos, long probeNanos, LongSupplier clock) {
        this.openNanos = openNanos;
        this.probeNanos = probeNanos;
        this.clock = clock;
    }

    /** Whether a caller may try now; open, it says so to only one of them. */
    boolean admits() {
        long end = openUntil.get();
        return end == CLOSED
                || clock.getAsLong() - end >= 0 && openUntil.compareAndSet(end, nanosFromNow(probeNanos));
    }

    boolean isClosed() {
        return openUntil.get() == CLOSED;
    }

    /** Notes a failure. */
    void open() {
        openUntil.set(nanosFromNow(openNanos));
    }

    /** Notes a success. */
    void close() {
        if (openUntil.get() != CLOSED) {
            openUntil.set(CLOSED);
        }
    }

    private long nanosFromNow(long nanos) {
        long time = clock.getAsLong() + nanos;
        return time == CLOSED ? 1 : time;
    }
}
