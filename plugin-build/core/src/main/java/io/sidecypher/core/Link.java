package io.sidecypher.core;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.neo4j.logging.Log;

/** The way to one sidecar that the run folder names, whether it is connected or not. */
final class Link {
    private final Settings settings;
    private final Rendezvous rendezvous;
    private final Watchdog watchdog;
    private final FailureCounts failures;
    private final Circuit circuit;
    private volatile CompletableFuture<Sidecar> attempt;
    private volatile String problem = "it was not tried yet";

    Link(Settings settings, Rendezvous rendezvous, Watchdog watchdog, FailureCounts failures) {
        this.settings = settings;
        this.rendezvous = rendezvous;
        this.watchdog = watchdog;
        this.failures = failures;
        long open = TimeUnit.MILLISECONDS.toNanos(settings.circuitMillis());
        long attemptMillis = (long) settings.connectMillis() + settings.handshakeMillis();
        circuit = new Circuit(open, open + TimeUnit.MILLISECONDS.toNanos(attemptMillis), System::nanoTime);
    }

    Rendezvous rendezvous() {
        return rendezvous;
    }

    /** The sidecar if it is connected now, else null. */
    Sidecar connected() {
        CompletableFuture<Sidecar> latest = attempt;
        if (latest == null || !latest.isDone() || latest.isCompletedExceptionally()) {
            return null;
        }
        Sidecar sidecar = latest.join();
        return sidecar.isAlive() ? sidecar : null;
    }

    /** Whether calls can be sent without further ado. */
    boolean isUsable() {
        return circuit.isClosed() && connected() != null;
    }

    /** Whether a caller may try this sidecar now. */
    boolean admits() {
        return circuit.admits();
    }

    /** Begins to connect, unless somebody has already; an end of the result is noted here first. */
    synchronized CompletableFuture<Sidecar> connect(Log log) {
        if (attempt == null || (attempt.isDone() && connected() == null)) {
            CompletableFuture<Sidecar> fresh = new CompletableFuture<>();
            attempt = fresh;
            try {
                Daemon.start("sidecypher-control", () -> connect(fresh, log));
            } catch (Throwable noThread) {
                // Published already: left open, it would keep every later call waiting.
                fail(fresh, noThread);
            }
        }
        return attempt;
    }

    /** Notes that a call could be sent, or that there is news of the sidecar. */
    void clear() {
        circuit.close();
    }

    /** Notes that the sidecar could not be reached, so that calls keep away from it for a while. */
    void failed(String reason) {
        problem = reason;
        circuit.open();
    }

    /** Why it was not reached the last time. */
    String problem() {
        return problem;
    }

    private void connect(CompletableFuture<Sidecar> fresh, Log log) {
        Sidecar sidecar;
        try {
            sidecar = Sidecar.connect(settings, rendezvous, watchdog, failures, log);
        } catch (Throwable failed) {
            fail(fresh, failed);
            return;
        }
        clear();
        fresh.complete(sidecar);
        sidecar.listen();
    }

    private void fail(CompletableFuture<Sidecar> fresh, Throwable reason) {
        failed(reason instanceof WireFailure known ? known.getMessage() : "no connection to it could be prepared");
        fresh.completeExceptionally(reason);
    }
}
