package io.sidecypher.core;

import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.neo4j.logging.Log;

/**
 * Chooses a sidecar for each call, in turn from those that are connected and have a free permit. If
 * all permits are in use, calls queue. If no sidecar is connected, calls wait for a connection.
 */
final class Admission {
    private static final long WAIT_MILLIS = 50;

    /** A sidecar for a call, with one of its permits unless the call is nested. */
    record Slot(Link link, Sidecar sidecar) {}

    private final Settings settings;
    private final Sidecars sidecars;
    private final AtomicInteger nextFirst = new AtomicInteger();
    private final AtomicInteger waiting = new AtomicInteger();

    Admission(Settings settings, Sidecars sidecars) {
        this.settings = settings;
        this.sidecars = sidecars;
    }

    /**
     * Finds the sidecar for a call; call {@link #release} after its first reply.
     *
     * @throws SidecypherException when none can be reached, or too many callers wait
     */
    Slot acquire(Call call, Log log) {
        return new Search(call, log).run();
    }

    void release(Slot slot, Call call) {
        if (!call.isNested()) {
            slot.sidecar().pool().release();
        }
    }

    /** Throws if a call that no sidecar has begun is terminated or past its deadline. */
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
        private Slot full;
        private Future<Sidecar> attempt;
        private int known;
        private int waits;
        private boolean queued;

        Search(Call call, Log log) {
            this.call = call;
            this.log = log;
        }

        Slot run() {
            try {
                Slot found = scan();
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

        /** Checks each sidecar once; those that are not connected start to connect. */
        private Slot scan() throws InterruptedException {
            full = null;
            attempt = null;
            List<Link> links = sidecars.links();
            known = links.size();
            int first = nextFirst.getAndIncrement();
            for (int i = 0; i < known; i++) {
                Slot found = tryLink(links.get(Math.floorMod(first + i, known)));
                if (found != null) {
                    return found;
                }
            }
            return null;
        }

        private Slot tryLink(Link link) throws InterruptedException {
            if (!link.admits()) {
                return null;
            }
            Sidecar sidecar = link.connected();
            if (sidecar == null) {
                Future<Sidecar> latest = link.connect(log);
                attempt = attempt == null ? latest : attempt;
                return null;
            }
            Slot slot = new Slot(link, sidecar);
            if (call.isNested() || sidecar.pool().acquire(0)) {
                return slot;
            }
            full = slot;
            return null;
        }

        private Slot await() throws InterruptedException {
            if (full != null) {
                return queue();
            }
            if (attempt == null || waits++ > known) {
                throw Failures.unavailable(call.procedure(), sidecars.problem());
            }
            awaitConnection();
            return null;
        }

        private Slot queue() throws InterruptedException {
            if (!queued) {
                queued = true;
                if (waiting.incrementAndGet() > settings.queueLimit()) {
                    throw Failures.busy(call.procedure(), "all connections are in use and "
                            + settings.queueLimit() + " callers wait for one");
                }
            }
            if (full.sidecar().pool().acquire(WAIT_MILLIS)) {
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
                    // Another sidecar may be connected or connecting.
                }
            }
        }
    }
}
