package io.sidecypher.core;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.concurrent.LinkedBlockingDeque;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.Supplier;

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
        tls = new PinnedTls(rendezvous);
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
     * @param command writes the command when it is sent, since it tells how much time is left
     * @param read converts the reply to the result; a WireFailure from it closes the connection
     */
    <T> T exchange(Call call, Supplier<String> command, Function<String, T> read) {
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
     * @param command writes the command when it is sent, since it tells how much time is left
     * @param read converts the reply to the result; a WireFailure from it closes the connection
     */
    <T> T send(Call call, Supplier<String> command, Function<String, T> read) {
        Connection connection = take(call);
        boolean healthy = true;
        try {
            // A call that was stopped meanwhile sends nothing.
            call.attach(connection);
            healthy = false;
            T result = read.apply(Connection.text(connection.ask(command.get())));
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
     * Connects, verifies the peer, sends token and hello, all within the handshake's time.
     *
     * @param abandoned returns true when the connection is not needed any more
     */
    Connection connect(String role, long atMostNanos, BooleanSupplier abandoned) {
        Wire wire = reach();
        Handshake handshake = new Handshake(wire, System.nanoTime() + atMostNanos, abandoned);
        boolean ready = false;
        watchdog.add(handshake);
        try {
            verify(wire);
            Connection connection = new Connection(wire, rendezvous.token(), settings.maxLineBytes());
            connection.start();
            String reply = connection.ask(Hello.request(role));
            connection.takesFailures(Hello.check(Connection.text(reply), rendezvous.generation()));
            ready = true;
            return connection;
        } catch (ConnectException refused) {
            throw WireFailure.unavailable("nothing answers on its socket");
        } catch (IOException failed) {
            throw WireFailure.unavailable("it did not finish the handshake");
        } catch (WireFailure failed) {
            throw failed.kind() == WireFailure.Kind.BUSY ? failed : WireFailure.unavailable(failed.getMessage());
        } finally {
            watchdog.remove(handshake);
            if (!ready) {
                wire.close();
            }
        }
    }

    /** Returns a wire that the watchdog can close; a connection to a port ends by itself. */
    private Wire reach() {
        try {
            return rendezvous.hasSocket() ? new UnixWire() : new TlsWire(address, settings.connectMillis());
        } catch (IOException failed) {
            throw WireFailure.unavailable("nothing answers on its port");
        }
    }

    private void verify(Wire wire) throws IOException {
        if (wire instanceof UnixWire unix) {
            unix.connect(rendezvous.socket(), rendezvous.owner());
        } else {
            ((TlsWire) wire).secure(tls, rendezvous);
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

    /** Ends a handshake that takes too long, wherever it blocks. */
    private record Handshake(Wire wire, long deadline, BooleanSupplier abandoned) implements Watchdog.Watched {
        @Override
        public void tick(long now) {
            if (now - deadline > 0 || abandoned.getAsBoolean()) {
                wire.close();
            }
        }
    }
}
