package io.sidecypher.core;

import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.neo4j.logging.Log;

/**
 * Gives calls their sidecars: calls take turns between those that are connected and have a permit
 * left. Only when none has do they queue, and only when none is connected do they wait for one.
 */
final class Admission {
    private static final long WAIT_MILLIS = 50;

    /** A sidecar that a call may be sent to; with one of its permits, unless the call is a nested one. */
    record Turn(Link link, Sidecar sidecar) {}

    private final Settings settings;
    private final Sidecars sidecars;
    private final AtomicInteger turns = new AtomicInteger();
    private final AtomicInteger waiting = new AtomicInteger();

    Admission(Settings settings, Sidecars sidecars) {
        this.settings = settings;
        this.sidecars = sidecars;
    }

    /**
     * Finds the sidecar for a call; {@link #leave} when its first reply is there.
     *
     * @throws SidecypherException when none can be reached, or too many callers wait
     */
    Turn take(Call call, Log log) {
        return new Search(call, log).run();
    }

    void leave(Turn turn, Call call) {
        if (!call.isNested()) {
            turn.sidecar().pool().leave();
        }
    }

    /** Throws what a call ends with for which nothing more is to be done: no sidecar has begun it. */
    static void checkWanted(Call call) {
        call.throwIfTerminated();
        if (call.isPastDeadline()) {
            throw Failures.unavailable(call.procedure(), "it did not answer within the call's timeout");
        }
    }

    /** The search for one call. */
    private final class Search {
        private final Call call;
        private final Log log;
        private Turn full;
        private Future<Sidecar> attempt;
        private int known;
        private int waits;
        private boolean queued;

        Search(Call call, Log log) {
            this.call = call;
            this.log = log;
        }

        Turn run() {
            try {
                Turn found = scan();
                while (found == null) {
                    found = await();
                    if (found == null) {
                        found = scan();
                    }
                }
                return found;
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
                throw Failures.busy(call.procedure(), "its thread was interrupted while it waited for a connection");
            } finally {
                if (queued) {
                    waiting.decrementAndGet();
                }
            }
        }

        /** Looks at each sidecar once; those that are not connected begin to be. */
        private Turn scan() throws InterruptedException {
            full = null;
            attempt = null;
            List<Link> links = sidecars.look();
            known = links.size();
            int first = turns.getAndIncrement();
            for (int i = 0; i < known; i++) {
                Turn found = look(links.get(Math.floorMod(first + i, known)));
                if (found != null) {
                    return found;
                }
            }
            return null;
        }

        private Turn look(Link link) throws InterruptedException {
            if (!link.admits()) {
                return null;
            }
            Sidecar sidecar = link.connected();
            if (sidecar == null) {
                Future<Sidecar> latest = link.connect(log);
                attempt = attempt == null ? latest : attempt;
                return null;
            }
            Turn turn = new Turn(link, sidecar);
            if (call.isNested() || sidecar.pool().enter(0)) {
                return turn;
            }
            full = turn;
            return null;
        }

        private Turn await() throws InterruptedException {
            if (full != null) {
                return queue();
            }
            if (attempt == null || waits++ > known) {
                throw Failures.unavailable(call.procedure(), sidecars.problem());
            }
            awaitConnection();
            return null;
        }

        private Turn queue() throws InterruptedException {
            if (!queued) {
                queued = true;
                if (waiting.incrementAndGet() > settings.queueLimit()) {
                    throw Failures.busy(call.procedure(), "all connections are in use and "
                            + settings.queueLimit() + " callers wait for one");
                }
            }
            if (full.sidecar().pool().enter(WAIT_MILLIS)) {
                return full;
            }
            call.throwIfTerminated();
            if (call.isPastDeadline()) {
                throw Failures.busy(call.procedure(), "no connection became free within its timeout");
            }
            return null;
        }

        private void awaitConnection() throws InterruptedException {
            while (!attempt.isDone() && !sidecars.isAnyUsable()) {
                checkWanted(call);
                try {
                    attempt.get(WAIT_MILLIS, TimeUnit.MILLISECONDS);
                } catch (TimeoutException | ExecutionException notYet) {
                    // Another one may be connected by now, or is being.
                }
            }
        }
    }
}
