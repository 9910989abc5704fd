package io.sidecypher.core;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Stream;

/**
 * Counts of the calls that this JVM has ended by itself: a sidecar cannot count calls that do not reach it.
 *
 * <p>Counts only grow, so a new sidecar gets the same numbers as one that has run all the time.
 */
final class FailureCounts {
    private static final String OFF = "OFF";

    private enum Result {
        ERROR,
        NOTHING
    }

    private record Kind(String procedure, String code, Result result) {}

    private final Map<Kind, LongAdder> counts = new ConcurrentHashMap<>();
    private final LongAdder total = new LongAdder();

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
        return total.sum();
    }

    Stream<Counts.Count> all() {
        return counts.entrySet().stream()
                .map(each -> new Counts.Count(
                        each.getKey().procedure(), json(each.getKey(), each.getValue().sum())));
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
        total.increment();
    }
}
