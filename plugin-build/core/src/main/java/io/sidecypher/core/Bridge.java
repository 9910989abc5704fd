package io.sidecypher.core;

import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
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

    private final Settings settings;
    private final Watchdog watchdog = new Watchdog();
    private final FailureCounts failures = new FailureCounts();
    private final Sidecars sidecars;
    private final Admission admission;
    private final Map<PythonProcedure, Fallback> fallbacks = new ConcurrentHashMap<>();

    Bridge(Settings settings) {
        this.settings = settings;
        sidecars = new Sidecars(settings, watchdog, failures);
        admission = new Admission(settings, sidecars);
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
        Fallback fallback = fallbacks.computeIfAbsent(procedure, this::fallback);
        Call call = new Call(procedure, tx, guard, settings, watchdog);
        if (fallback.isOff()) {
            // For its checks: arguments that do not fit are an error whatever becomes of the call.
            request(call, caller, arguments);
            return fallback.rows(row);
        }
        Caller traced = settings.traceContext() ? caller.tracedBy(TraceContext.of(tx)) : caller;
        try {
            Pages pages = new Pages(call, guard, new FailureLog(log, failures), settings.maxLineBytes());
            // At once, so that errors arise in the call and not where its rows are read.
            Iterator<Object[]> first = pages.first(() -> start(call, request(call, traced, arguments), log));
            return StreamSupport.stream(new Rows<>(pages, first, row), false).onClose(pages::close);
        } catch (SidecypherException failed) {
            if (failed.wasNotStarted()) {
                return fallback.rows(row, failed, log);
            }
            throw failed;
        }
    }

    private String request(Call call, Caller caller, Object[] arguments) {
        try {
            return Requests.call(call, caller, arguments, settings.maxLineBytes());
        } catch (SidecypherException refused) {
            failures.error(call.procedure(), refused);
            throw refused;
        }
    }

    private Fallback fallback(PythonProcedure procedure) {
        return new Fallback(procedure, settings.availability().of(procedure), failures);
    }

    /** Sends a call's first request, to one sidecar after the other until one of them begins it. */
    private Reply start(Call call, String command, Log log) {
        WireFailure last = null;
        for (int tries = 0; tries <= sidecars.look().size(); tries++) {
            Admission.Turn turn = admission.take(call, log);
            try {
                call.bind(turn.sidecar());
                return begun(turn, turn.sidecar().pool().send(call, command, text -> Reply.parse(text, call)));
            } catch (WireFailure failure) {
                if (!failure.wasNotSent()) {
                    throw failure;
                }
                last = failure;
                keepAway(turn, failure, call);
            } finally {
                admission.leave(turn, call);
            }
        }
        throw last.kind() == WireFailure.Kind.BUSY
                ? Failures.busy(call.procedure(), last.getMessage())
                : Failures.unavailable(call.procedure(), last.getMessage());
    }

    private static Reply begun(Admission.Turn turn, Reply reply) {
        if (reply.refused() != null) {
            throw new WireFailure(reply.refused(), reply.error().message());
        }
        turn.link().clear();
        return reply;
    }

    private static void keepAway(Admission.Turn turn, WireFailure failure, Call call) {
        // A call that is over has ended its own handshake, which tells nothing about the sidecar.
        Admission.checkWanted(call);
        if (failure.kind() == WireFailure.Kind.UNAVAILABLE) {
            turn.link().failed(failure.getMessage());
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
