package io.sidecypher.core;

import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/**
 * A circuit breaker for a sidecar that could not be reached.
 *
 * <p>An open circuit admits no call. After a while it admits one call as a probe for all others.
 */
final class Circuit {
    private static final long CLOSED = 0;

    private final long openNanos;
    private final long probeNanos;
    private final LongSupplier clock;
    private final AtomicLong openUntil = new AtomicLong(CLOSED);

    /**
     * @param openNanos time after a failure in which no call is admitted
     * @param probeNanos longest duration of a probe
     */
    Circuit(long openNanos, long probeNanos, LongSupplier clock) {
        this.openNanos = openNanos;
        this.probeNanos = probeNanos;
        this.clock = clock;
    }

    /** Returns whether a call may try now; an open circuit admits only one of them. */
    boolean admits() {
        long end = openUntil.get();
        return end == CLOSED
                || clock.getAsLong() - end >= 0 && openUntil.compareAndSet(end, nanosFromNow(probeNanos));
    }

    boolean isClosed() {
        return openUntil.get() == CLOSED;
    }

    /** Records a failure. */
    void open() {
        openUntil.set(nanosFromNow(openNanos));
    }

    /** Records a success. */
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
