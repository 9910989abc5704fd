package io.sidecypher.core;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Stream;

/** Counts of the rows that this JVM keeps and has given again, for the metrics of the sidecars. */
final class CacheCounts {
    /** The counts of one procedure. */
    static final class OfProcedure {
        private final LongAdder hits = new LongAdder();
        private final LongAdder hitsWithoutSidecar = new LongAdder();
        private final LongAdder misses = new LongAdder();
        // The sum of an adder can miss an addition and have the removal after it.
        private final AtomicLong entries = new AtomicLong();
        private final AtomicLong bytes = new AtomicLong();

        void found(boolean hit, boolean withSidecar) {
            (hit ? hits : misses).increment();
            if (hit && !withSidecar) {
                hitsWithoutSidecar.increment();
            }
        }

        void add(int more, long moreBytes) {
            entries.addAndGet(more);
            bytes.addAndGet(moreBytes);
        }

        private String json(String procedure) {
            return LimitedText.of(Integer.MAX_VALUE, json -> {
                json.writeStartObject();
                json.writeStringField("procedure", procedure);
                json.writeNumberField("hits", hits.sum());
                json.writeNumberField("hits_without_sidecar", hitsWithoutSidecar.sum());
                json.writeNumberField("misses", misses.sum());
                json.writeNumberField("entries", entries.get());
                json.writeNumberField("bytes", bytes.get());
                json.writeEndObject();
            });
        }
    }

    private final Map<PythonProcedure, OfProcedure> counts = new ConcurrentHashMap<>();

    OfProcedure of(PythonProcedure procedure) {
        return counts.computeIfAbsent(procedure, any -> new OfProcedure());
    }

    /** Returns the number of calls that were looked up. */
    long total() {
        return counts.values().stream().mapToLong(each -> each.hits.sum() + each.misses.sum()).sum();
    }

    Stream<Counts.Count> all() {
        return counts.entrySet().stream()
                .map(each -> new Counts.Count(
                        each.getKey().name(), each.getValue().json(each.getKey().name())));
    }
}
