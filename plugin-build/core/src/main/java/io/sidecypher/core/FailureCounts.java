package io.sidecypher.core;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.StringJoiner;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/**
 * Counts of the calls that this JVM has ended by itself: a sidecar cannot count calls that do not reach it.
 *
 * <p>Counts only grow, so a new sidecar gets the same numbers as one that has run all the time.
 */
final class FailureCounts {
    private static final String OFF = "OFF";

    /** Limits of the sidecar: it ends the connection if there are more counts, or longer names. */
    private static final int MOST_COUNTS = 10_000;
    private static final int LONGEST_NAME = 1000;

    private enum Result {
        ERROR,
        NOTHING
    }

    private record Kind(String procedure, String code, Result result) {}

    private final Map<Kind, LongAdder> counts = new ConcurrentHashMap<>();
    private final LongAdder all = new LongAdder();

    /** Counts a call that ended with an error of the plugin. */
    void error(PythonProcedure procedure, SidecypherException error) {
        count(procedure, error.code(), Result.ERROR);
    }

    /** Counts a call that returned nothing instead of an error. */
    void nothing(PythonProcedure procedure, SidecypherException reason) {
        count(procedure, reason.code(), Result.NOTHING);
    }

    /** Counts a call whose availability is OFF. */
    void off(PythonProcedure procedure) {
        count(procedure, OFF, Result.NOTHING);
    }

    /** Returns the sum of all counts. */
    long total() {
        return all.sum();
    }

    /** Returns the counts as a JSON list of at most this many bytes; the rest is left out. */
    String list(int limit) {
        StringJoiner list = new StringJoiner(",", "[", "]");
        int room = limit - list.length();
        int listed = 0;
        for (Map.Entry<Kind, LongAdder> entry : counts.entrySet()) {
            String count = json(entry.getKey(), entry.getValue().sum());
            int bytes = count.getBytes(StandardCharsets.UTF_8).length + ",".length();
            if (bytes <= room && listed < MOST_COUNTS && entry.getKey().procedure().length() <= LONGEST_NAME) {
                list.add(count);
                room -= bytes;
                listed++;
            }
        }
        return list.toString();
    }

    private static String json(Kind kind, long count) {
        return LimitedText.of(Integer.MAX_VALUE, json -> {
            json.writeStartObject();
            json.writeStringField("procedure", kind.procedure());
            json.writeStringField("code", kind.code());
            json.writeStringField("result", kind.result() == Result.ERROR ? "error" : "nothing");
            json.writeNumberField("count", count);
            json.writeEndObject();
        });
    }

    private void count(PythonProcedure procedure, String code, Result result) {
        counts.computeIfAbsent(new Kind(procedure.name(), code, result), kind -> new LongAdder()).increment();
        all.increment();
    }
}
