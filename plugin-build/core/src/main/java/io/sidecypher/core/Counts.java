package io.sidecypher.core;

/** What this JVM counts for the metrics of the sidecars. */
record Counts(FailureCounts failures, CacheCounts cache) {
    Counts() {
        this(new FailureCounts(), new CacheCounts());
    }

    /** Returns a number that grows with each count. */
    long total() {
        return failures.total() + cache.total();
    }
}
