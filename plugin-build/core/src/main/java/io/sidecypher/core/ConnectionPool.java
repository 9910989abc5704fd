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
 * The bounded connections to one run of a sidecar, instead of Py4J's one for each Java thread.
 *
 * <p>A thread that is already inside a call needs no permit, since the call that holds one waits for it.
 */
final class ConnectionPool {
    private static final long LOOK_UP_MILLIS = 100;

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

    /** Takes a permit to {@link #send} within a time; 0 only takes one that nobody waits for. */
    boolean enter(long millis) throws InterruptedException {
        // The plain form would overtake those who wait.
        return permits.tryAcquire(millis, TimeUnit.MILLISECONDS);
    }

    void leave() {
        permits.release();
    }

    /**
     * Sends one more command of a call that has begun and reads its reply, however long it waits for a permit.
     *
     * @param read makes the result of the reply; a WireFailure it throws closes the connection
     */
    <T> T exchange(Call call, String command, Function<String, T> read) {
        if (call.isNested()) {
            return send(call, command, read);
        }
        try {
            while (!enter(LOOK_UP_MILLIS)) {
                call.throwIfStopped();
            }
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new WireFailure(WireFailure.Kind.NOT_SENT, "its thread was interrupted");
        }
        try {
            return send(call, command, read);
        } finally {
            leave();
        }
    }

    /**
     * Sends one command of a call and reads its reply, with a permit or inside of another call.
     *
     * @param read makes the result of the reply; a WireFailure it throws closes the connection
     */
    <T> T send(Call call, String command, Function<String, T> read) {
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

    /**
     * Connects, proves the certificate, shows the token and says hello, all within the handshake's time.
     *
     * @param abandoned whether nobody waits for the connection any more
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
                throw unavailable("who listens on the sidecar's port did not prove to be it");
            }
            throw unavailable(handshake == null ? "nothing answers on its port" : "it did not finish the handshake");
        } catch (WireFailure failed) {
            throw failed.kind() == WireFailure.Kind.BUSY ? failed : unavailable(failed.getMessage());
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
