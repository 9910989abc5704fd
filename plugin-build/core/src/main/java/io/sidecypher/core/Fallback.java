package io.sidecypher.core;

import io.sidecypher.core.PythonProcedure.Availability;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.stream.Stream;
import org.neo4j.logging.Log;

/** What the calls of one procedure give that no sidecar has begun. */
final class Fallback {
    private static final long QUIET_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final PythonProcedure procedure;
    private final Availability availability;
    private final FailureCounts failures;
    private final AtomicLong quietUntil = new AtomicLong(System.nanoTime());
    private final AtomicLong untold = new AtomicLong();

    Fallback(PythonProcedure procedure, Availability availability, FailureCounts failures) {
        this.procedure = procedure;
        this.availability = availability;
        this.failures = failures;
    }

    /** Whether no call is to be made at all. */
    boolean isOff() {
        return availability == Availability.OFF;
    }

    /** The rows of a call that was not to be made. */
    <R> Stream<R> rows(Function<Object[], R> row) {
        failures.off(procedure);
        return nothing(row);
    }

    private <R> Stream<R> nothing(Function<Object[], R> row) {
        return procedure.isSingleRow() ? Stream.of(row.apply(new Object[procedure.columns().size()])) : Stream.empty();
    }

    /**
     * The rows of a call that could not be started.
     *
     * @throws SidecypherException the reason, if the procedure cannot be done without
     */
    <R> Stream<R> rows(Function<Object[], R> row, SidecypherException reason, Log log) {
        if (availability == Availability.REQUIRED) {
            new FailureLog(log, failures).error(procedure, reason);
            throw reason;
        }
        failures.nothing(procedure, reason);
        tell(reason, log);
        return nothing(row);
    }

    /** One line a second at most: without a sidecar a query may call many thousand times a second. */
    private void tell(SidecypherException reason, Log log) {
        long now = System.nanoTime();
        long end = quietUntil.get();
        if (now - end < 0 || !quietUntil.compareAndSet(end, now + QUIET_NANOS)) {
            untold.incrementAndGet();
            return;
        }
        long before = untold.getAndSet(0);
        String others = before == 0 ? "" : " So did " + before + " calls before it.";
        log.warn("Sidecypher: `" + procedure.name() + "` is " + availability + " and gave "
                + (procedure.isSingleRow() ? "nulls" : "no rows") + " instead of this error: " + reason.text() + others);
    }
}
