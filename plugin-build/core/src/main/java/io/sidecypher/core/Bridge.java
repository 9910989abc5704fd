package io.sidecypher.core;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.neo4j.graphdb.Transaction;
import org.neo4j.logging.Log;
import org.neo4j.procedure.TerminationGuard;
import py4j.ClientServerConnection;

/**
 * The way to Python, one for each JVM.
 *
 * <p>Nothing is connected before the first call, and a sidecar that is missing or restarted concerns
 * only the calls that need it.
 */
final class Bridge {
    /** Py4J's loggers print what is sent; held here, since the log manager forgets unused loggers. */
    private static final Logger PY4J_LOGGER = Logger.getLogger(ClientServerConnection.class.getPackageName());

    static {
        PY4J_LOGGER.setLevel(Level.OFF);
    }

    private static final long LOOK_UP_MILLIS = 50;

    private final Settings settings;
    private final Watchdog watchdog = new Watchdog();
    private final AtomicReference<CompletableFuture<Sidecar>> current = new AtomicReference<>();

    Bridge(Settings settings) {
        this.settings = settings;
    }

    /**
     * The bridge of this JVM.
     *
     * @throws IllegalArgumentException when a setting is wrong; it names the setting
     */
    static Bridge shared() {
        return Shared.BRIDGE.get();
    }

    <R> Stream<R> call(
            PythonProcedure procedure,
            Caller caller,
            Transaction tx,
            TerminationGuard guard,
            Log log,
            Function<Object[], R> row,
            Object[] arguments) {
        Call call = new Call(procedure, tx, guard, settings, watchdog);
        int limit = settings.maxLineBytes();
        Rows<R> rows = new Rows<>(call, guard, log, limit, row, read ->
                start(call, Requests.call(call, caller, arguments, limit), log, read));
        return StreamSupport.stream(rows, false).onClose(rows::close);
    }

    /** Sends a call's first request to the sidecar that runs now. */
    private <T> T start(Call call, String command, Log log, Function<String, T> read) {
        try {
            return startOnce(call, command, log, read);
        } catch (WireFailure failure) {
            if (failure.kind() != WireFailure.Kind.NOT_SENT) {
                throw failure;
            }
        }
        // The sidecar was replaced or the pooled connection was dead: nothing has begun, so once more.
        return startOnce(call, command, log, read);
    }

    private <T> T startOnce(Call call, String command, Log log, Function<String, T> read) {
        Sidecar sidecar = sidecar(call, log);
        call.bind(sidecar);
        return sidecar.pool().exchange(call, command, read);
    }

    private Sidecar sidecar(Call call, Log log) {
        CompletableFuture<Sidecar> future = current.get();
        if (future == null || isOver(future)) {
            CompletableFuture<Sidecar> fresh = new CompletableFuture<>();
            if (current.compareAndSet(future, fresh)) {
                try {
                    Sidecar.connect(settings, watchdog, log, fresh);
                } catch (Throwable noThread) {
                    // Published already: left open, it would keep every later call waiting.
                    fresh.completeExceptionally(noThread);
                }
            }
            future = current.get();
        }
        return await(future, call);
    }

    private static boolean isOver(CompletableFuture<Sidecar> future) {
        return future.isCompletedExceptionally() || (future.isDone() && !future.join().isAlive());
    }

    private static Sidecar await(CompletableFuture<Sidecar> future, Call call) {
        while (true) {
            try {
                return future.get(LOOK_UP_MILLIS, TimeUnit.MILLISECONDS);
            } catch (TimeoutException notYet) {
                call.throwIfStopped();
            } catch (ExecutionException failed) {
                if (failed.getCause() instanceof WireFailure failure) {
                    throw failure;
                }
                throw new WireFailure(WireFailure.Kind.UNAVAILABLE, "no connection to it could be prepared");
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
                throw new WireFailure(WireFailure.Kind.UNAVAILABLE, "the calling thread was interrupted");
            }
        }
    }

    /** Keeps the problem instead of failing to load, so that every call can tell it. */
    private static final class Shared {
        private static final Supplier<Bridge> BRIDGE = load();

        private static Supplier<Bridge> load() {
            try {
                Bridge bridge = new Bridge(Settings.load());
                return () -> bridge;
            } catch (IllegalArgumentException wrong) {
                return () -> {
                    throw new IllegalArgumentException(wrong.getMessage());
                };
            }
        }
    }
}
