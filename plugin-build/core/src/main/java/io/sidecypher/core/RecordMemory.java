package io.sidecypher.core;

import java.util.concurrent.atomic.AtomicLong;

/**
 * The part of the heap that records of writing statements may take, in all calls together.
 *
 * <p>Neo4j does not know of this memory, so its own limits do not bound it.
 */
final class RecordMemory {
    /** A quarter: Neo4j gives transactions up to 70 % of the heap. */
    static final long MOST_BYTES = Runtime.getRuntime().maxMemory() / 4;

    private static final AtomicLong TAKEN = new AtomicLong();

    private RecordMemory() {}

    /** The most bytes that a text takes. */
    static long of(String text) {
        return 2L * text.length();
    }

    /** Whether there was room for so many bytes; if so, they must be given back. */
    static boolean take(long bytes) {
        boolean fits = TAKEN.addAndGet(bytes) <= MOST_BYTES;
        if (!fits) {
            giveBack(bytes);
        }
        return fits;
    }

    static void giveBack(long bytes) {
        TAKEN.addAndGet(-bytes);
    }
}
