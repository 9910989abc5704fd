package io.sidecypher.core;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.StringJoiner;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/**
 * Counts the calls that this JVM has ended by itself: no sidecar can count what did not reach one.
 *
 * <p>Counts only grow, so a sidecar that has just started is told the same as one that was there all along.
 */
final class FailureCounts {
    private static final String OFF = "OFF";

    /** A sidecar ends the connection over more of them, or over a longer name. */
    private static final int MOST_TOLD = 10_000;
    private static final int LONGEST_NAME = 1000;

    private enum Result {
        ERROR,
        NOTHING
    }

    private record Kind(String procedure, String code, Result result) {}

    private final Map<Kind, LongAdder> counts = new ConcurrentHashMap<>();
    private final LongAdder all = new LongAdder();

    /** A call ended with an error of this side. */
    void error(PythonProcedure procedure, SidecypherException error) {
        count(procedure, error.code(), Result.ERROR);
    }

    /** A call gave nothing instead of an error. */
    void nothing(PythonProcedure procedure, SidecypherException reason) {
        count(procedure, reason.code(), Result.NOTHING);
    }

    /** A call was not to be made. */
    void off(PythonProcedure procedure) {
        count(procedure, OFF, Result.NOTHING);
    }

    /** How many there are; it grows with each. */
    long total() {
        return all.sum();
    }

    /** The counts as a JSON list that is no longer than the limit, in bytes; the others are left out. */
    String list(int limit) {
        StringJoiner list = new StringJoiner(",", "[", "]");
        int room = limit - list.length();
        int told = 0;
        for (Map.Entry<Kind, LongAdder> entry : counts.entrySet()) {
            String count = json(entry.getKey(), entry.getValue().sum());
            int bytes = count.getBytes(StandardCharsets.UTF_8).length + ",".length();
            if (bytes <= room && told < MOST_TOLD && entry.getKey().procedure().length() <= LONGEST_NAME) {
                list.add(count);
                room -= bytes;
                told++;
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
