package io.sidecypher.core;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.neo4j.graphdb.Transaction;
import org.neo4j.procedure.TerminationGuard;

/**
 * One call of a procedure, from its first request to its last page.
 *
 * <p>The caller's thread is in Python between {@link #enter} and {@link #leave}; only then does time
 * count and does the watchdog check the call. To stop it, the watchdog asks the sidecar to cancel and
 * terminates the Cypher of a callback. After a grace period it closes the connection.
 */
final class Call implements Watchdog.Watched {
    private static final ThreadLocal<Call> CURRENT = new ThreadLocal<>();
    private static final AtomicLong COUNTER = new AtomicLong();

    private final String id = Hello.jvm() + "-" + COUNTER.incrementAndGet();
    private final PythonProcedure procedure;
    private final Transaction tx;
    private final TerminationGuard guard;
    private final Settings settings;
    private final Watchdog watchdog;
    private final Callbacks callbacks = new Callbacks(this);
    private final long timeoutMillis;
    private long budgetNanos;
    private long enteredAt;
    private Call outer;
    private boolean callbacksAllowed;

    private volatile long deadline;
    private volatile Sidecar sidecar;
    private volatile RuntimeException stopped;
    private Connection connection;
    private boolean inCypher;
    private long closeAt;

    Call(PythonProcedure procedure, Transaction tx, TerminationGuard guard, Settings settings, Watchdog watchdog) {
        this.procedure = procedure;
        this.tx = tx;
        this.guard = guard;
        this.settings = settings;
        this.watchdog = watchdog;
        long own = Math.max(procedure.timeoutMillis(), settings.leastTimeoutMillis());
        Call around = CURRENT.get();
        timeoutMillis = around == null ? own : Math.min(own, around.remainingMillis());
        budgetNanos = TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
    }

    String id() {
        return id;
    }

    PythonProcedure procedure() {
        return procedure;
    }

    Transaction tx() {
        return tx;
    }

    Settings settings() {
        return settings;
    }

    /**
     * Begins a crossing to Python on the caller's thread.
     *
     * @param callbacks whether Python may run Cypher meanwhile
     * @param atMostNanos a limit of this crossing in addition to the call's own time
     */
    void enter(boolean callbacks, long atMostNanos) {
        outer = CURRENT.get();
        if (depth() > settings.nestedDepth()) {
            throw Failures.tooDeep(procedure, settings.nestedDepth());
        }
        callbacksAllowed = callbacks;
        enteredAt = System.nanoTime();
        long end = enteredAt + Math.min(budgetNanos, atMostNanos);
        deadline = outer != null && outer.deadline - end < 0 ? outer.deadline : end;
        CURRENT.set(this);
        watchdog.add(this);
    }

    /** Ends the crossing; the time outside is the consumer's, not the call's. */
    void leave() {
        watchdog.remove(this);
        budgetNanos -= System.nanoTime() - enteredAt;
        if (outer == null) {
            CURRENT.remove();
        } else {
            CURRENT.set(outer);
        }
    }

    boolean isNested() {
        return outer != null;
    }

    boolean allowsCallbacks() {
        return callbacksAllowed;
    }

    long remainingNanos() {
        return Math.max(0, deadline - System.nanoTime());
    }

    long remainingMillis() {
        return TimeUnit.NANOSECONDS.toMillis(remainingNanos());
    }

    boolean isPastDeadline() {
        return deadline - System.nanoTime() <= 0;
    }

    boolean isStopped() {
        return stopped != null;
    }

    void throwIfStopped() {
        if (stopped != null) {
            throw stopped;
        }
    }

    /** Throws the reason that has stopped the call, unless it is the deadline. */
    void throwIfTerminated() {
        RuntimeException reason = stopped;
        if (reason != null && !(reason instanceof SidecypherException)) {
            throw reason;
        }
    }

    /** Sets the sidecar that cancels the call. */
    void bind(Sidecar bound) {
        sidecar = bound;
    }

    Sidecar sidecar() {
        return sidecar;
    }

    /** Sets the connection of the request that is sent next. */
    synchronized void attach(Connection used) {
        throwIfStopped();
        connection = used;
        used.serve(this);
    }

    synchronized void detach(Connection used) {
        connection = null;
        used.serve(null);
    }

    synchronized void beginCypher() {
        throwIfStopped();
        inCypher = true;
    }

    synchronized void endCypher() {
        inCypher = false;
    }

    Callbacks callbacks() {
        return callbacks;
    }

    /** Returns the error of a call that is past its deadline, or null. */
    SidecypherException deadlineError() {
        return stopped instanceof SidecypherException pastDeadline ? pastDeadline : null;
    }

    /** Throws the error that ends the call, whatever Python answered. */
    void throwIfFailed() {
        if (deadlineError() != null) {
            throw deadlineError();
        }
        // Checked before the termination: Neo4j terminates a transaction whose query failed.
        if (callbacks.failure() != null) {
            throw Failures.cypher(callbacks.failure());
        }
        throwIfStopped();
    }

    @Override
    public void tick(long now) {
        RuntimeException reason = stopped == null ? reasonToStop(now) : null;
        synchronized (this) {
            if (reason != null) {
                stop(reason, now);
            }
            if (stopped != null && connection != null && now - closeAt >= 0) {
                connection.shutdown();
            }
        }
    }

    private RuntimeException reasonToStop(long now) {
        if (now - deadline >= 0) {
            return Failures.deadline(procedure, timeoutMillis);
        }
        try {
            guard.check();
            return null;
        } catch (RuntimeException terminated) {
            return terminated;
        }
    }

    private void stop(RuntimeException reason, long now) {
        stopped = reason;
        closeAt = now + TimeUnit.MILLISECONDS.toNanos(settings.graceMillis());
        if (connection != null) {
            sidecar.cancel(id, now - deadline >= 0 ? "deadline" : "terminated");
        }
        if (inCypher) {
            tx.terminate();
        }
    }

    private int depth() {
        return outer == null ? 0 : outer.depth() + 1;
    }
}
