package io.sidecypher.core;

import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.neo4j.logging.Log;

/**
 * One run of the sidecar as this JVM sees it: its pool, and a control connection that tells when it is
 * gone and carries the requests to cancel.
 */
final class Sidecar {
    private static final int MOST_PENDING_CANCELS = 1024;
    private static final String END = "";

    private final ConnectionPool pool;
    private final Connection control;
    private final Log log;
    private final BlockingQueue<String> cancels = new ArrayBlockingQueue<>(MOST_PENDING_CANCELS);
    private volatile boolean alive = true;

    private Sidecar(ConnectionPool pool, Connection control, Log log) {
        this.pool = pool;
        this.control = control;
        this.log = log;
    }

    /** Finds and connects to the sidecar that runs now, on a thread of its own that then stays to listen. */
    static void connect(Settings settings, Watchdog watchdog, Log log, CompletableFuture<Sidecar> promise) {
        start("sidecypher-control", () -> {
            try {
                List<Rendezvous> found = Rendezvous.read(settings.runDir());
                Rendezvous rendezvous = found.get(found.size() - 1);
                ConnectionPool pool = new ConnectionPool(settings, rendezvous, watchdog);
                long atMost = TimeUnit.MILLISECONDS.toNanos(settings.handshakeMillis());
                Connection control = pool.connect("control", atMost, () -> false);
                Sidecar sidecar = new Sidecar(pool, control, log);
                promise.complete(sidecar);
                sidecar.listen();
            } catch (Throwable failed) {
                promise.completeExceptionally(failed);
            }
        });
    }

    boolean isAlive() {
        return alive;
    }

    ConnectionPool pool() {
        return pool;
    }

    /** Asks the sidecar to cancel a call; never waits, since the watchdog calls it. */
    void cancel(String id, String reason) {
        cancels.offer(Requests.cancel(id, reason));
    }

    private void listen() {
        try {
            start("sidecypher-cancel", this::sendCancels);
            while (control.receive() != null) {
                // Replies to cancel say nothing of use.
            }
        } catch (WireFailure broken) {
            // The same as an end of the connection.
        } finally {
            alive = false;
            control.shutdown();
            pool.shutdown();
            cancels.clear();
            cancels.offer(END);
            log.info("Sidecypher: the sidecar is gone; the next call looks for a new one.");
        }
    }

    private void sendCancels() {
        try {
            for (String request = cancels.take(); !request.equals(END); request = cancels.take()) {
                control.send(request);
            }
        } catch (InterruptedException | WireFailure gone) {
            // The listening thread notices the same.
        }
    }

    private static void start(String name, Runnable body) {
        Thread thread = new Thread(body, name);
        thread.setDaemon(true);
        thread.start();
    }
}
