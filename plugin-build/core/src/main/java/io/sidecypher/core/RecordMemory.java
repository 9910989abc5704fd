package io.sidecypher.core;

import java.util.concurrent.atomic.AtomicLong;

/**
 * The part of the heap for records of writing statements, shared by all calls.
 *
 * <p>Neo4j's own memory limits do not include it.
 */
final class RecordMemory {
    /** A quarter of the heap: Neo4j's transactions may use up to 70 %. */
    static final long MOST_BYTES = Runtime.getRuntime().maxMemory() / 4;

    private static final AtomicLong RESERVED = new AtomicLong();

    private RecordMemory() {}

    /** Returns the most bytes that a text needs. */
    static long of(String text) {
        return 2L * text.length();
    }

    /** Reserves bytes and returns whether there was room; if so, they must be released. */
    static boolean reserve(long bytes) {
        boolean fits = RESERVED.addAndGet(bytes) <= MOST_BYTES;
        if (!fits) {
            release(bytes);
        }
        return fits;
    }

    static void release(long bytes) {
        RESERVED.addAndGet(-bytes);
    }
}
