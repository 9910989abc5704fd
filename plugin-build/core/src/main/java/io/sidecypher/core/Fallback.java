package io.sidecypher.core;

import io.sidecypher.core.PythonProcedure.Availability;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.stream.Stream;
import org.neo4j.logging.Log;

/** The results of a procedure's calls that no sidecar has begun. */
final class Fallback {
    private static final long QUIET_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final PythonProcedure procedure;
    private final Availability availability;
    private final FailureCounts failures;
    private final AtomicLong quietUntil = new AtomicLong(System.nanoTime());
    private final AtomicLong suppressed = new AtomicLong();

    Fallback(PythonProcedure procedure, Availability availability, FailureCounts failures) {
        this.procedure = procedure;
        this.availability = availability;
        this.failures = failures;
    }

    /** Returns whether calls are never made. */
    boolean isOff() {
        return availability == Availability.OFF;
    }

    /** Returns the rows of a call that is switched off. */
    <R> Stream<R> rows(Function<Object[], R> row) {
        failures.off(procedure);
        return nothing(row);
    }

    private <R> Stream<R> nothing(Function<Object[], R> row) {
        return procedure.singleRow() ? Stream.of(row.apply(new Object[procedure.columns().size()])) : Stream.empty();
    }

    /**
     * Returns the rows of a call that could not be started.
     *
     * @throws SidecypherException the reason, if the procedure is REQUIRED
     */
    <R> Stream<R> rows(Function<Object[], R> row, SidecypherException reason, Log log) {
        if (availability == Availability.REQUIRED) {
            new FailureLog(log, failures).error(procedure, reason);
            throw reason;
        }
        failures.nothing(procedure, reason);
        warn(reason, log);
        return nothing(row);
    }

    /** Logs at most one line a second: a query may call many thousand times a second. */
    private void warn(SidecypherException reason, Log log) {
        long now = System.nanoTime();
        long end = quietUntil.get();
        if (now - end < 0 || !quietUntil.compareAndSet(end, now + QUIET_NANOS)) {
            suppressed.incrementAndGet();
            return;
        }
        long before = suppressed.getAndSet(0);
        String others = before == 0 ? "" : " So did " + before + " calls before it.";
        log.warn("Sidecypher: `" + procedure.name() + "` is " + availability + " and gave "
                + (procedure.singleRow() ? "nulls" : "no rows") + " instead of this error: " + reason.text() + others);
    }
}
