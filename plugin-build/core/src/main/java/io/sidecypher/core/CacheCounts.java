package io.sidecypher.core;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.StringJoiner;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/** Counts of the rows that this JVM keeps and has given again, for the metrics of the sidecars. */
final class CacheCounts {
    /** The counts of one procedure. */
    static final class Counts {
        private final LongAdder hits = new LongAdder();
        private final LongAdder hitsWithoutSidecar = new LongAdder();
        private final LongAdder misses = new LongAdder();
        private final LongAdder entries = new LongAdder();
        private final LongAdder bytes = new LongAdder();

        void found(boolean hit, boolean withSidecar) {
            (hit ? hits : misses).increment();
            if (hit && !withSidecar) {
                hitsWithoutSidecar.increment();
            }
        }

        void add(int more, long moreBytes) {
            entries.add(more);
            bytes.add(moreBytes);
        }

        private String json(String procedure) {
            return LimitedText.of(Integer.MAX_VALUE, json -> {
                json.writeStartObject();
                json.writeStringField("procedure", procedure);
                json.writeNumberField("hits", hits.sum());
                json.writeNumberField("hits_without_sidecar", hitsWithoutSidecar.sum());
                json.writeNumberField("misses", misses.sum());
                json.writeNumberField("entries", entries.sum());
                json.writeNumberField("bytes", bytes.sum());
                json.writeEndObject();
            });
        }
    }

    private final Map<PythonProcedure, Counts> counts = new ConcurrentHashMap<>();

    Counts of(PythonProcedure procedure) {
        return counts.computeIfAbsent(procedure, any -> new Counts());
    }

    /** Returns the number of calls that were looked up. */
    long total() {
        return counts.values().stream().mapToLong(each -> each.hits.sum() + each.misses.sum()).sum();
    }

    /** Returns the counts as a JSON list of at most this many bytes; the rest is left out. */
    String list(int limit) {
        StringJoiner list = new StringJoiner(",", "[", "]");
        int room = limit - list.length();
        for (Map.Entry<PythonProcedure, Counts> entry : counts.entrySet()) {
            String json = entry.getValue().json(entry.getKey().name());
            room -= json.getBytes(StandardCharsets.UTF_8).length + ",".length();
            if (room < 0) {
                break;
            }
            list.add(json);
        }
        return list.toString();
    }
}
