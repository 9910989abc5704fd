package io.sidecypher.core;

import java.util.Iterator;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.neo4j.procedure.TerminationGuard;

/** Fetches the pages of one call, and ends the call where nothing more is to be fetched. */
final class Pages {
    private static final long CLOSE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Call call;
    private final TerminationGuard guard;
    private final FailureLog failures;
    private final int maxLineBytes;
    private boolean more;

    Pages(Call call, TerminationGuard guard, FailureLog failures, int maxLineBytes) {
        this.call = call;
        this.guard = guard;
        this.failures = failures;
        this.maxLineBytes = maxLineBytes;
    }

    /** Whether the sidecar has another page. */
    boolean hasNext() {
        return more;
    }

    /**
     * Fetches the first page.
     *
     * @param start sends the call to a sidecar that begins it
     */
    Iterator<Object[]> first(Supplier<Reply> start) {
        return fetch(start);
    }

    Iterator<Object[]> next() {
        return fetch(() -> {
            // Neo4j itself does not look between two rows of a procedure.
            guard.check();
            return call.sidecar().pool().exchange(call, Requests.page(call), text -> Reply.parse(text, call));
        });
    }

    /** Lets Python end a generator that nobody reads any further. */
    void close() {
        if (!more) {
            return;
        }
        more = false;
        call.callbacks().close();
        try {
            guard.check();
        } catch (RuntimeException terminated) {
            cancel("terminated");
            return;
        }
        call.enter(false, CLOSE_NANOS);
        try {
            call.sidecar().pool().exchange(call, Requests.close(call), reply -> reply);
        } catch (RuntimeException failed) {
            cancel("terminated");
        } finally {
            call.leave();
        }
    }

    private Iterator<Object[]> fetch(Supplier<Reply> exchange) {
        try {
            return take(exchange);
        } catch (RuntimeException failure) {
            throw Failures.ofTransaction(call.procedure(), failure);
        }
    }

    private Iterator<Object[]> take(Supplier<Reply> exchange) {
        more = false;
        enter();
        try {
            Reply reply = reply(exchange);
            if (call.hasFailed() && reply.more()) {
                abandon();
            }
            call.throwIfFailed();
            if (reply.error() != null) {
                throw Failures.remote(reply.error());
            }
            more = reply.more();
            return reply.rows().iterator();
        } catch (WireFailure failure) {
            if (call.deadlineError() != null) {
                // It did not even answer the cancel, so it cannot have told of it in its own log.
                failures.error(call.procedure(), call.deadlineError());
            }
            call.throwIfFailed();
            throw explained(failure);
        } finally {
            call.leave();
            if (!more) {
                call.callbacks().close();
            }
        }
    }

    private void enter() {
        try {
            call.enter(true, Long.MAX_VALUE);
        } catch (SidecypherException tooDeep) {
            failures.error(call.procedure(), tooDeep);
            throw tooDeep;
        }
    }

    private Reply reply(Supplier<Reply> exchange) {
        try {
            return exchange.get();
        } catch (RuntimeException unread) {
            // Whatever it is, also one of Neo4j's own: the call may be open there, with its generator.
            abandon();
            throw unread;
        }
    }

    private SidecypherException explained(WireFailure failure) {
        PythonProcedure procedure = call.procedure();
        SidecypherException explained = switch (failure.kind()) {
            // Of a page: the call itself has begun.
            case UNAVAILABLE, BUSY, NOT_SENT, LOST -> Failures.outcomeUnknown(procedure);
            case PROTOCOL -> Failures.protocol(procedure, failure.getMessage());
            case TOO_LARGE -> Failures.tooLarge(procedure, "an answer", maxLineBytes);
        };
        failures.error(procedure, explained);
        return explained;
    }

    /** Lets the sidecar end the call, and tell of it as what the caller sees. */
    private void abandon() {
        cancel(call.deadlineError() == null ? "terminated" : "deadline");
    }

    private void cancel(String reason) {
        // Nobody has begun a call that was never to be sent to one.
        if (call.sidecar() != null) {
            call.sidecar().cancel(call.id(), reason);
        }
    }
}
