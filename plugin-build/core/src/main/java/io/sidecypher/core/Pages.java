package io.sidecypher.core;

import java.util.Iterator;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.neo4j.procedure.TerminationGuard;

/** Fetches the pages of one call, and ends the call after the last one. */
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

    /** Returns whether the sidecar has another page. */
    boolean hasNext() {
        return more;
    }

    Iterator<Object[]> next() {
        return fetch(() -> {
            // Neo4j itself does not check between two rows of a procedure.
            guard.check();
            return call.sidecar().pool().exchange(call, () -> Requests.page(call), text -> Reply.parse(text, call));
        });
    }

    /** Lets Python end a generator that is not read any further. */
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
            call.sidecar().pool().exchange(call, () -> Requests.close(call), reply -> reply);
        } catch (RuntimeException failed) {
            cancel("terminated");
        } finally {
            call.leave();
        }
    }

    /** Fetches a page: the first one with the request that starts the call. */
    Iterator<Object[]> fetch(Supplier<Reply> exchange) {
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
            throwIfFailed(reply);
            if (reply.error() != null) {
                throw Failures.remote(reply.error());
            }
            more = reply.more();
            return reply.rows().iterator();
        } catch (WireFailure failure) {
            if (call.deadlineError() != null) {
                // The sidecar did not answer the cancel, so its own log does not have this error.
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

    private void throwIfFailed(Reply reply) {
        try {
            call.throwIfFailed();
        } catch (RuntimeException failed) {
            if (reply.more()) {
                abandon();
            }
            throw failed;
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
            // After any error, also one of Neo4j, the sidecar may still have the call open.
            abandon();
            throw unread;
        }
    }

    private SidecypherException explained(WireFailure failure) {
        PythonProcedure procedure = call.procedure();
        SidecypherException explained = switch (failure.kind()) {
            // These are failures of a page: the call itself has begun.
            case UNAVAILABLE, BUSY, NOT_SENT, LOST -> Failures.outcomeUnknown(procedure);
            case PROTOCOL -> Failures.protocol(procedure, failure.getMessage());
            case TOO_LARGE -> Failures.tooLarge(procedure, "an answer", maxLineBytes);
        };
        failures.error(procedure, explained);
        return explained;
    }

    /** Lets the sidecar end the call, with the same reason as for the caller. */
    private void abandon() {
        cancel(call.deadlineError() == null ? "terminated" : "deadline");
    }

    private void cancel(String reason) {
        // Without a sidecar the call was never sent.
        if (call.sidecar() != null) {
            call.sidecar().cancel(call.id(), reason);
        }
    }
}
