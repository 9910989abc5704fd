package io.sidecypher.core;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.neo4j.logging.Log;

/** One sidecar of the run folder, connected or not. */
final class Link {
    private final Settings settings;
    private final Rendezvous rendezvous;
    private final Watchdog watchdog;
    private final Counts counts;
    private final Circuit circuit;
    private volatile CompletableFuture<Sidecar> attempt;
    private volatile String problem = "it was not tried yet";

    Link(Settings settings, Rendezvous rendezvous, Watchdog watchdog, Counts counts) {
        this.settings = settings;
        this.rendezvous = rendezvous;
        this.watchdog = watchdog;
        this.counts = counts;
        long open = TimeUnit.MILLISECONDS.toNanos(settings.circuitMillis());
        long attemptMillis = (long) settings.connectMillis() + settings.handshakeMillis();
        circuit = new Circuit(open, open + TimeUnit.MILLISECONDS.toNanos(attemptMillis), System::nanoTime);
    }

    Rendezvous rendezvous() {
        return rendezvous;
    }

    /** Returns the sidecar if it is connected now, else null. */
    Sidecar connected() {
        CompletableFuture<Sidecar> latest = attempt;
        if (latest == null || !latest.isDone() || latest.isCompletedExceptionally()) {
            return null;
        }
        Sidecar sidecar = latest.join();
        return sidecar.isAlive() ? sidecar : null;
    }

    /** Returns whether calls can be sent now. */
    boolean isUsable() {
        return circuit.isClosed() && connected() != null;
    }

    /** Returns whether a call may try this sidecar now. */
    boolean admits() {
        return circuit.admits();
    }

    /** Starts to connect, unless an attempt exists; this link is updated before the result completes. */
    synchronized CompletableFuture<Sidecar> connect(Log log) {
        if (attempt == null || (attempt.isDone() && connected() == null)) {
            CompletableFuture<Sidecar> fresh = new CompletableFuture<>();
            attempt = fresh;
            try {
                Daemon.start("sidecypher-control", () -> connect(fresh, log));
            } catch (Throwable noThread) {
                // Later calls already wait for this attempt, so it must end.
                fail(fresh, noThread);
            }
        }
        return attempt;
    }

    /** Closes the circuit: a call could be sent, or the run folder has changed. */
    void clear() {
        circuit.close();
    }

    /** Opens the circuit: the sidecar could not be reached. */
    void failed(String reason) {
        problem = reason;
        circuit.open();
    }

    /** Returns the reason why it could not be reached the last time. */
    String problem() {
        return problem;
    }

    private void connect(CompletableFuture<Sidecar> fresh, Log log) {
        Sidecar sidecar;
        try {
            sidecar = Sidecar.connect(settings, rendezvous, watchdog, counts, log);
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
