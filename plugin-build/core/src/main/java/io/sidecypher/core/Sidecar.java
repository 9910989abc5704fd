package io.sidecypher.core;

import java.net.UnknownHostException;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import org.neo4j.logging.Log;

/**
 * One run of a sidecar that this JVM is connected to: its pool, and a control connection that tells
 * when it is gone and carries the requests to cancel.
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

    /** Connects to a sidecar; somebody must then {@link #listen}. */
    static Sidecar connect(Settings settings, Rendezvous rendezvous, Watchdog watchdog, Log log)
            throws UnknownHostException {
        ConnectionPool pool = new ConnectionPool(settings, rendezvous, watchdog);
        long atMost = TimeUnit.MILLISECONDS.toNanos(settings.handshakeMillis());
        return new Sidecar(pool, pool.connect("control", atMost, () -> false), log);
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

    /** Stays on the control connection until the sidecar is gone. */
    void listen() {
        try {
            Daemon.start("sidecypher-cancel", this::sendCancels);
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
            log.info("Sidecypher: a sidecar is gone; the next call looks for the others.");
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
}
