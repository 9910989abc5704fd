package io.sidecypher.core;

import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.neo4j.graphdb.Transaction;
import org.neo4j.logging.Log;
import org.neo4j.procedure.TerminationGuard;

/**
 * The bridge to Python, one for each JVM.
 *
 * <p>Nothing is connected before the first call, and a missing or restarted sidecar affects only the
 * calls that need it.
 */
final class Bridge {
    private final Settings settings;
    private final Watchdog watchdog = new Watchdog();
    private final Counts counts = new Counts();
    private final FailureCounts failures = counts.failures();
    private final Sidecars sidecars;
    private final Admission admission;
    private final RowCache cache;
    private final Map<PythonProcedure, Fallback> fallbacks = new ConcurrentHashMap<>();

    Bridge(Settings settings) {
        this.settings = settings;
        sidecars = new Sidecars(settings, watchdog, counts);
        cache = new RowCache(settings, counts.cache());
        admission = new Admission(settings, sidecars);
    }

    /**
     * Returns the bridge of this JVM.
     *
     * @throws IllegalArgumentException if a setting is wrong; it names the setting
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
        if (fallback.isOff()) {
            // Only to check the arguments: invalid ones are an error even if the call is not made.
            members(new Call(procedure, tx, guard, settings, watchdog), caller, arguments);
            return fallback.rows(row);
        }
        RowCache.Key key = cache.serves(procedure) ? key(procedure, caller, arguments) : null;
        List<Object[]> kept = key == null ? null : cache.find(key, sidecars.isAnyUsable());
        if (kept != null) {
            // Neo4j itself does not check between two calls.
            guard.check();
            return kept.size() == 1 ? Stream.of(row.apply(kept.get(0))) : kept.stream().map(row);
        }
        Call call = new Call(procedure, tx, guard, settings, watchdog);
        Caller traced = settings.traceContext() ? caller.tracedBy(TraceContext.of(tx)) : caller;
        try {
            Pages pages = new Pages(call, guard, new FailureLog(log, failures), settings.maxLineBytes());
            // The first page is fetched now, so that errors arise in the call and not when rows are read.
            Iterator<Object[]> first = pages.fetch(() -> start(call, members(call, traced, arguments), key, log));
            return StreamSupport.stream(new Rows<>(pages, first, row), false).onClose(pages::close);
        } catch (SidecypherException failed) {
            if (failed.wasNotStarted()) {
                return fallback.rows(row, failed, log);
            }
            throw failed;
        }
    }

    private String members(Call call, Caller caller, Object[] arguments) {
        return checked(
                call.procedure(), () -> Requests.members(call, caller, arguments, settings.maxLineBytes()));
    }

    private RowCache.Key key(PythonProcedure procedure, Caller caller, Object[] arguments) {
        Object comparable =
                checked(procedure, () -> Requests.comparable(procedure, arguments, settings.maxLineBytes()));
        return RowCache.Key.of(procedure, caller, comparable);
    }

    private <T> T checked(PythonProcedure procedure, Supplier<T> arguments) {
        try {
            return arguments.get();
        } catch (SidecypherException refused) {
            failures.error(procedure, refused);
            throw refused;
        }
    }

    private Fallback fallback(PythonProcedure procedure) {
        return new Fallback(procedure, settings.availability().of(procedure), failures);
    }

    private Reply start(Call call, String members, RowCache.Key key, Log log) {
        long begin = System.nanoTime();
        Reply reply = start(call, members, log);
        if (key != null) {
            cache.keep(key, reply, begin);
        }
        return reply;
    }

    /** Sends a call's first request, to one sidecar after the other until one of them begins it. */
    private Reply start(Call call, String members, Log log) {
        int tries = 0;
        while (true) {
            Admission.Slot slot = admission.acquire(call, log);
            try {
                call.bind(slot.sidecar());
                ConnectionPool pool = slot.sidecar().pool();
                return started(slot, pool.send(call, () -> Requests.call(call, members), text -> Reply.parse(text, call)));
            } catch (WireFailure failure) {
                if (!failure.wasNotSent()) {
                    throw failure;
                }
                openCircuit(slot, failure, call);
                // One that is unavailable is left alone for a while, so no number has to limit them: a call that
                // waits long may meet several that stop. It ends when none is left, or with its time.
                if (failure.kind() != WireFailure.Kind.UNAVAILABLE && tries++ >= sidecars.links().size()) {
                    throw failure.kind() == WireFailure.Kind.BUSY
                            ? Failures.busy(call.procedure(), failure.getMessage())
                            : Failures.unavailable(call.procedure(), failure.getMessage());
                }
            } finally {
                admission.release(slot, call);
            }
        }
    }

    private static Reply started(Admission.Slot slot, Reply reply) {
        if (reply.refused() != null) {
            throw new WireFailure(reply.refused(), reply.error().message());
        }
        slot.link().clear();
        return reply;
    }

    private static void openCircuit(Admission.Slot slot, WireFailure failure, Call call) {
        // A call that is over ends its own handshake, which is not a failure of the sidecar.
        Admission.checkWanted(call);
        if (failure.kind() == WireFailure.Kind.UNAVAILABLE) {
            slot.link().failed(failure.getMessage());
        }
    }

    /** Keeps the problem instead of failing to load, so that every call can report it. */
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
