package io.sidecypher.core;

import java.util.Iterator;
import java.util.Spliterator;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.neo4j.procedure.TerminationGuard;

/** The rows of one call: the first page at once, so that errors arise in the call, the others as they are read. */
final class Rows<R> implements Spliterator<R> {
    private static final long CLOSE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Call call;
    private final TerminationGuard guard;
    private final FailureLog failures;
    private final Function<Object[], R> makeRow;
    private final int maxLineBytes;
    private Iterator<Object[]> page;
    private boolean more;

    /**
     * @param first sends the call; its argument reads the reply
     */
    Rows(
            Call call,
            TerminationGuard guard,
            FailureLog failures,
            int maxLineBytes,
            Function<Object[], R> makeRow,
            Function<Function<String, Reply>, Reply> first) {
        this.call = call;
        this.guard = guard;
        this.failures = failures;
        this.maxLineBytes = maxLineBytes;
        this.makeRow = makeRow;
        fetch(() -> first.apply(this::read));
    }

    @Override
    public boolean tryAdvance(Consumer<? super R> action) {
        while (!page.hasNext()) {
            if (!more) {
                return false;
            }
            fetch(this::nextPage);
        }
        action.accept(makeRow.apply(page.next()));
        return true;
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

    private Reply nextPage() {
        // Neo4j itself does not look between two rows of a procedure.
        guard.check();
        return call.sidecar().pool().exchange(call, Requests.page(call), this::read);
    }

    private Reply read(String text) {
        return Reply.parse(text, call);
    }

    private void fetch(Supplier<Reply> exchange) {
        try {
            take(exchange);
        } catch (RuntimeException failure) {
            throw Failures.ofTransaction(call.procedure(), failure);
        }
    }

    private void take(Supplier<Reply> exchange) {
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
            page = reply.rows().iterator();
            more = reply.more();
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

    @Override
    public Spliterator<R> trySplit() {
        return null;
    }

    @Override
    public long estimateSize() {
        return Long.MAX_VALUE;
    }

    @Override
    public int characteristics() {
        return ORDERED;
    }
}
