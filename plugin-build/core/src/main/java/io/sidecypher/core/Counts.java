package io.sidecypher.core;

import java.nio.charset.StandardCharsets;
import java.util.StringJoiner;
import java.util.stream.Stream;

/** What this JVM counts for the metrics of the sidecars. */
record Counts(FailureCounts failures, CacheCounts cache) {
    Counts() {
        this(new FailureCounts(), new CacheCounts());
    }

    /** Limits of the sidecar: it ends the connection if there are more counts, or longer names. */
    private static final int MOST_COUNTS = 10_000;
    private static final int LONGEST_NAME = 1000;

    /**
     * One count.
     *
     * @param procedure the name of its procedure
     */
    record Count(String procedure, String json) {}

    /** Returns counts as a JSON list of at most this many bytes; what the sidecar does not take is left out. */
    static String list(Stream<Count> counts, int limit) {
        StringJoiner list = new StringJoiner(",", "[", "]");
        int room = limit - list.length();
        int listed = 0;
        for (Count count : (Iterable<Count>) counts::iterator) {
            int bytes = count.json().getBytes(StandardCharsets.UTF_8).length + ",".length();
            if (bytes <= room && listed < MOST_COUNTS && count.procedure().length() <= LONGEST_NAME) {
                list.add(count.json());
                room -= bytes;
                listed++;
            }
        }
        return list.toString();
    }

    /** Returns a number that grows with each count. */
    long total() {
        return failures.total() + cache.total();
    }
}
