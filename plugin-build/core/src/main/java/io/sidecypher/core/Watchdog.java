package io.sidecypher.core;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** The one thread that looks, many times a second, at everything that may last too long. */
final class Watchdog implements Runnable {
    /** Something with an end that somebody else must enforce; a tick must not block. */
    interface Watched {
        void tick(long now);
    }

    private static final long PERIOD = TimeUnit.MILLISECONDS.toNanos(20);
    private static final int IDLE_PERIODS_BEFORE_PARKING = 50;

    private final Set<Watched> active = ConcurrentHashMap.newKeySet();
    private final Thread thread = new Thread(this, "sidecypher-watchdog");
    private volatile boolean parked;

    Watchdog() {
        thread.setDaemon(true);
        thread.start();
    }

    void add(Watched watched) {
        active.add(watched);
        // Waking a thread costs as much as a small call, so it sleeps on only after a quiet second.
        if (parked) {
            LockSupport.unpark(thread);
        }
    }

    void remove(Watched watched) {
        active.remove(watched);
    }

    @Override
    public void run() {
        int idlePeriods = 0;
        while (true) {
            idlePeriods = active.isEmpty() ? idlePeriods + 1 : 0;
            if (idlePeriods > IDLE_PERIODS_BEFORE_PARKING) {
                parked = true;
                if (active.isEmpty()) {
                    LockSupport.park(this);
                }
                parked = false;
                idlePeriods = 0;
            } else {
                LockSupport.parkNanos(this, PERIOD);
            }
            long now = System.nanoTime();
            for (Watched watched : active) {
                tick(watched, now);
            }
        }
    }

    private static void tick(Watched watched, long now) {
        try {
            watched.tick(now);
        } catch (Throwable broken) {
            // Whatever is wrong with one call, also an Error, the others are still watched.
        }
    }
}
