package io.sidecypher.core;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.UnknownHostException;
import java.util.List;
import java.util.concurrent.LinkedBlockingDeque;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import javax.net.ssl.SSLHandshakeException;
import py4j.PythonClient;

/**
 * The bounded connections to one run of the sidecar, instead of Py4J's one for each Java thread.
 *
 * <p>A thread that is already inside a call never waits for a permit, since the call that holds one
 * waits for it.
 */
final class ConnectionPool extends PythonClient {
    private static final long LOOK_UP_MILLIS = 100;

    private final Settings settings;
    private final Rendezvous rendezvous;
    private final PinnedTls tls;
    private final Watchdog watchdog;
    private final Semaphore permits;
    private final AtomicInteger waiting = new AtomicInteger();
    private final LinkedBlockingDeque<Connection> idle;
    private volatile boolean closed;

    ConnectionPool(Settings settings, Rendezvous rendezvous, Watchdog watchdog) throws UnknownHostException {
        super(null, List.of(), rendezvous.port(), InetAddress.getByName(rendezvous.host()), 0, TimeUnit.SECONDS,
                new DirectSockets(settings.connectMillis()), null, false, 0, null);
        this.settings = settings;
        this.rendezvous = rendezvous;
        this.watchdog = watchdog;
        tls = new PinnedTls(rendezvous.fingerprint());
        permits = new Semaphore(settings.poolSize(), true);
        idle = new LinkedBlockingDeque<>(settings.poolSize());
    }

    @Override
    public String sendCommand(String command, boolean blocking) {
        return exchange(Call.current(), command, reply -> reply);
    }

    /**
     * Sends one command for a call and reads its reply.
     *
     * @param read makes the result of the reply; a WireFailure it throws closes the connection
     */
    <T> T exchange(Call call, String command, Function<String, T> read) {
        if (call.isNested()) {
            return send(call, command, read);
        }
        acquire(call);
        try {
            return send(call, command, read);
        } finally {
            permits.release();
        }
    }

    /**
     * Connects, proves the certificate, shows the token and says hello, all within the handshake's time.
     *
     * @param abandoned whether nobody waits for the connection any more
     */
    Connection connect(String role, long atMostNanos, BooleanSupplier abandoned) {
        Socket plain = null;
        Handshake handshake = null;
        boolean ready = false;
        try {
            plain = startClientSocket();
            handshake = new Handshake(plain, System.nanoTime() + atMostNanos, abandoned);
            watchdog.add(handshake);
            Connection connection = new Connection(
                    plain, tls.handshake(plain, rendezvous.host(), rendezvous.port()), this, rendezvous.token(),
                    settings.maxLineBytes());
            connection.start();
            String reply = connection.sendCommand(Hello.request(role), true);
            Hello.check(Connection.text(reply), rendezvous.generation());
            ready = true;
            return connection;
        } catch (SSLHandshakeException refused) {
            throw unavailable("who listens on the sidecar's port did not prove to be it");
        } catch (IOException failed) {
            throw unavailable(plain == null ? "nothing answers on its port" : "it did not finish the handshake");
        } catch (WireFailure failed) {
            throw unavailable(failed.getMessage());
        } finally {
            if (handshake != null) {
                watchdog.remove(handshake);
            }
            if (plain != null && !ready) {
                closeQuietly(plain);
            }
        }
    }

    @Override
    public void shutdown() {
        closed = true;
        super.shutdown();
        drain();
    }

    private void acquire(Call call) {
        try {
            // The timed form keeps the order of arrival, the plain one would overtake those who wait.
            if (permits.tryAcquire(0, TimeUnit.MILLISECONDS)) {
                return;
            }
            queue(call);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw Failures.busy(call.procedure(), "its thread was interrupted while it waited for a connection");
        }
    }

    private void queue(Call call) throws InterruptedException {
        try {
            if (waiting.incrementAndGet() > settings.queueLimit()) {
                throw Failures.busy(call.procedure(), "all " + settings.poolSize() + " connections are in use and "
                        + settings.queueLimit() + " callers wait for one");
            }
            while (!permits.tryAcquire(LOOK_UP_MILLIS, TimeUnit.MILLISECONDS)) {
                if (call.isPastDeadline()) {
                    throw Failures.busy(call.procedure(), "no connection became free within its timeout");
                }
                call.throwIfStopped();
            }
        } finally {
            waiting.decrementAndGet();
        }
    }

    private <T> T send(Call call, String command, Function<String, T> read) {
        Connection connection = take(call);
        boolean healthy = false;
        try {
            call.attach(connection);
            T result = read.apply(Connection.text(connection.sendCommand(command, true)));
            healthy = true;
            return result;
        } catch (SidecypherException wrongRow) {
            // The reply was read whole: the connection is as good as before.
            healthy = true;
            throw wrongRow;
        } finally {
            call.detach(connection);
            if (healthy) {
                giveBack(connection);
            } else {
                connection.shutdown();
            }
        }
    }

    private Connection take(Call call) {
        if (closed) {
            throw new WireFailure(WireFailure.Kind.NOT_SENT, "this run of the sidecar ended");
        }
        Connection connection = idle.pollFirst();
        if (connection != null) {
            return connection;
        }
        long atMost = Math.min(TimeUnit.MILLISECONDS.toNanos(settings.handshakeMillis()), call.remainingNanos());
        return connect("call", atMost, call::isStopped);
    }

    private void giveBack(Connection connection) {
        if (connection.isClosed() || !idle.offerFirst(connection)) {
            connection.shutdown();
        }
        if (closed) {
            drain();
        }
    }

    private void drain() {
        for (Connection connection = idle.pollFirst(); connection != null; connection = idle.pollFirst()) {
            connection.shutdown();
        }
    }

    private static WireFailure unavailable(String reason) {
        return new WireFailure(WireFailure.Kind.UNAVAILABLE, reason);
    }

    private static void closeQuietly(Socket socket) {
        try {
            socket.close();
        } catch (IOException alreadyBroken) {
            // It is closed all the same.
        }
    }

    /** Ends a handshake that takes too long, whatever it blocks in. */
    private record Handshake(Socket plain, long deadline, BooleanSupplier abandoned) implements Watchdog.Watched {
        @Override
        public void tick(long now) {
            if (now - deadline > 0 || abandoned.getAsBoolean()) {
                closeQuietly(plain);
            }
        }
    }
}
