package io.sidecypher.core;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.StandardSocketOptions;
import java.net.UnknownHostException;
import java.security.cert.CertificateException;
import java.util.concurrent.LinkedBlockingDeque;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import javax.net.ssl.SSLHandshakeException;

/**
 * A bounded pool of connections to one run of a sidecar, instead of Py4J's connection per thread.
 *
 * <p>A nested call does not need a permit, since the call around it holds one.
 */
final class ConnectionPool {
    private static final long CHECK_MILLIS = 100;

    private final Settings settings;
    private final Rendezvous rendezvous;
    private final InetSocketAddress address;
    private final PinnedTls tls;
    private final Watchdog watchdog;
    private final Semaphore permits;
    private final LinkedBlockingDeque<Connection> idle;
    private volatile boolean closed;

    ConnectionPool(Settings settings, Rendezvous rendezvous, Watchdog watchdog) throws UnknownHostException {
        this.settings = settings;
        this.rendezvous = rendezvous;
        this.watchdog = watchdog;
        address = new InetSocketAddress(InetAddress.getByName(rendezvous.host()), rendezvous.port());
        tls = new PinnedTls(rendezvous.fingerprint());
        permits = new Semaphore(settings.poolSize(), true);
        idle = new LinkedBlockingDeque<>(settings.poolSize());
    }

    /** Acquires a permit to {@link #send} within a time; with 0 only if no other thread waits for it. */
    boolean acquire(long millis) throws InterruptedException {
        // tryAcquire() without a time would overtake waiting threads.
        return permits.tryAcquire(millis, TimeUnit.MILLISECONDS);
    }

    void release() {
        permits.release();
    }

    /**
     * Waits for a permit, sends another command of a call that has begun, and reads the reply.
     *
     * @param read converts the reply to the result; a WireFailure from it closes the connection
     */
    <T> T exchange(Call call, String command, Function<String, T> read) {
        if (call.isNested()) {
            return send(call, command, read);
        }
        try {
            while (!acquire(CHECK_MILLIS)) {
                call.throwIfStopped();
            }
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new WireFailure(WireFailure.Kind.NOT_SENT, "its thread was interrupted");
        }
        try {
            return send(call, command, read);
        } finally {
            release();
        }
    }

    /**
     * Sends one command of a call and reads its reply, with a permit or in a nested call.
     *
     * @param read converts the reply to the result; a WireFailure from it closes the connection
     */
    <T> T send(Call call, String command, Function<String, T> read) {
        Connection connection = take(call);
        boolean healthy = true;
        try {
            // A call that was stopped meanwhile sends nothing.
            call.attach(connection);
            healthy = false;
            T result = read.apply(Connection.text(connection.sendCommand(command, true)));
            healthy = true;
            return result;
        } catch (SidecypherException wrongRow) {
            // The whole reply was read, so the connection can be used again.
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

    /**
     * Connects, verifies the certificate, sends token and hello, all within the handshake's time.
     *
     * @param abandoned returns true when the connection is not needed any more
     */
    Connection connect(String role, long atMostNanos, BooleanSupplier abandoned) {
        Socket plain = new Socket();
        Handshake handshake = null;
        boolean ready = false;
        try {
            // Without NODELAY a call over 8 KiB takes 44 ms.
            plain.setOption(StandardSocketOptions.TCP_NODELAY, true);
            plain.connect(address, settings.connectMillis());
            handshake = new Handshake(plain, System.nanoTime() + atMostNanos, abandoned);
            watchdog.add(handshake);
            Connection connection = new Connection(
                    plain, tls.handshake(plain, rendezvous.host(), rendezvous.port()), rendezvous.token(),
                    settings.maxLineBytes());
            connection.start();
            String reply = connection.sendCommand(Hello.request(role), true);
            connection.takesFailures(Hello.check(Connection.text(reply), rendezvous.generation()));
            ready = true;
            return connection;
        } catch (IOException failed) {
            if (failed instanceof SSLHandshakeException && failed.getCause() instanceof CertificateException) {
                throw WireFailure.unavailable("the certificate on the sidecar's port is not the sidecar's");
            }
            throw WireFailure.unavailable(
                    handshake == null ? "nothing answers on its port" : "it did not finish the handshake");
        } catch (WireFailure failed) {
            throw failed.kind() == WireFailure.Kind.BUSY ? failed : WireFailure.unavailable(failed.getMessage());
        } finally {
            if (handshake != null) {
                watchdog.remove(handshake);
            }
            if (!ready) {
                closeQuietly(plain);
            }
        }
    }

    void shutdown() {
        closed = true;
        drain();
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

    private static void closeQuietly(Socket socket) {
        try {
            socket.close();
        } catch (IOException alreadyBroken) {
            // It is closed anyway.
        }
    }

    /** Ends a handshake that takes too long, wherever it blocks. */
    private record Handshake(Socket plain, long deadline, BooleanSupplier abandoned) implements Watchdog.Watched {
        @Override
        public void tick(long now) {
            if (now - deadline > 0 || abandoned.getAsBoolean()) {
                closeQuietly(plain);
            }
        }
    }
}
