package io.sidecypher.core;

import java.net.UnknownHostException;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import org.neo4j.logging.Log;

/**
 * One run of a sidecar that this JVM is connected to: its pool and its control connection. The control
 * connection sends cancel requests and counts of failures, and its end shows that the sidecar is gone.
 */
final class Sidecar {
    private static final int MOST_PENDING_CANCELS = 1024;
    private static final String END = "";
    private static final long REPORT_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final ConnectionPool pool;
    private final Connection control;
    private final Counts counts;
    private final int maxLineBytes;
    private final Log log;
    private final BlockingQueue<String> cancels = new ArrayBlockingQueue<>(MOST_PENDING_CANCELS);
    private volatile boolean alive = true;
    private long reported;
    private long reportedAt = System.nanoTime() - REPORT_NANOS;

    private Sidecar(ConnectionPool pool, Connection control, Counts counts, int maxLineBytes, Log log) {
        this.pool = pool;
        this.control = control;
        this.counts = counts;
        this.maxLineBytes = maxLineBytes;
        this.log = log;
    }

    /** Connects to a sidecar; {@link #listen} must be called next. */
    static Sidecar connect(
            Settings settings, Rendezvous rendezvous, Watchdog watchdog, Counts counts, Log log)
            throws UnknownHostException {
        ConnectionPool pool = new ConnectionPool(settings, rendezvous, watchdog);
        long atMost = TimeUnit.MILLISECONDS.toNanos(settings.handshakeMillis());
        Connection control = pool.connect("control", atMost, () -> false);
        return new Sidecar(pool, control, counts, settings.maxLineBytes(), log);
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

    /** Reads the control connection until the sidecar is gone. */
    void listen() {
        try {
            Daemon.start("sidecypher-cancel", this::sendRequests);
            while (control.receive() != null) {
                // The replies are not used.
            }
        } catch (WireFailure broken) {
            // Handled like the end of the connection.
        } finally {
            alive = false;
            control.shutdown();
            pool.shutdown();
            cancels.clear();
            cancels.offer(END);
            log.info("Sidecypher: a sidecar is gone; the next call looks for the others.");
        }
    }

    private void sendRequests() {
        try {
            report();
            for (String request = next(); !END.equals(request); request = next()) {
                if (request != null) {
                    control.send(request);
                }
                report();
            }
        } catch (InterruptedException | WireFailure gone) {
            // The listening thread handles this too.
        }
    }

    /** Returns the next request to cancel, or null if there is none for a while. */
    private String next() throws InterruptedException {
        return cancels.poll(REPORT_NANOS, TimeUnit.NANOSECONDS);
    }

    /** Sends the counts if they have grown, at most once per interval. */
    private void report() {
        long total = counts.total();
        if (control.takesFailures() && total != reported && System.nanoTime() - reportedAt >= REPORT_NANOS) {
            control.send(Requests.failures(counts, maxLineBytes));
            reported = total;
            reportedAt = System.nanoTime();
        }
    }
}
